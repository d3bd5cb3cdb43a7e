import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { toErrorBody, type CodedError } from '@drover/contracts';
import { requestHeadTooLarge, requestTooSlow, requestUnreadable } from '../exchanges/errors.js';
import type { HttpLimits } from './http-limits.js';

/** What Node's parser refused, in our words. */
export function toUnreadableError(code: string, limits: HttpLimits): CodedError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return requestHeadTooLarge({ limitBytes: limits.headerBytes });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTooSlow({});
    default:
      return requestUnreadable({ problem: 'it is not readable HTTP' });
  }
}

/** Answers on the bare connection, since there is no request to answer, and closes it whatever the other side does. */
export function answerUnreadable(socket: Socket, error: CodedError, requestId: string): void {
  const { status, body } = toErrorBody(error, requestId);
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${requestId}`,
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  socket.destroySoon();
}
