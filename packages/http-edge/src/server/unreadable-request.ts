import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { CodedError } from '@drover/contracts';
import { bodyUnreadable, headersTooLarge, requestTooSlow } from '../errors/edge-errors.js';
import { toErrorAnswer } from '../errors/write-error.js';
import type { PortLimits } from './port-limits.js';

/** Why Node's server could not read a request: its head is too large, it did not arrive in time, or it is not HTTP. */
export type UnreadableKind = 'head-too-large' | 'too-slow' | 'not-http';

/** Returns the kind for the code of a `clientError` event. */
export function unreadableKind(code: string): UnreadableKind {
  if (code === 'HPE_HEADER_OVERFLOW') return 'head-too-large';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'too-slow' : 'not-http';
}

/** Returns the error for a request that Node's server could not read. */
export function toUnreadableError(code: string, limits: PortLimits): CodedError {
  switch (unreadableKind(code)) {
    case 'head-too-large':
      return headersTooLarge({ limitBytes: limits.headerBytes, limitCount: limits.headers });
    case 'too-slow':
      return requestTooSlow({ headersMs: limits.headersMs, requestMs: limits.requestMs });
    case 'not-http':
      return bodyUnreadable({ problem: 'the request is not readable HTTP' });
  }
}

/** Writes an error on the bare connection, since there is no request to answer, and closes it. */
export function answerUnreadable(socket: Socket, error: CodedError, requestId: string): void {
  const { status, headers, body } = toErrorAnswer(error, requestId);
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2)
    head += `${headers[index] ?? ''}: ${headers[index + 1] ?? ''}\r\n`;
  socket.write(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
  socket.destroySoon();
}
