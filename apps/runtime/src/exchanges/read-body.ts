import type { IncomingMessage } from 'node:http';
import { bodiesFull, requestBodyTooLarge } from './errors.js';
import type { BodyLimits, HoldBytes, ReceivedRequest } from './functions-wire.js';

/** Returns whether a request announces a body. */
export function hasBody({ headers }: ReceivedRequest): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Returns the length of the body, if the request announces it. */
export function announcedLength({ headers }: ReceivedRequest): number | undefined {
  return headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
}

/**
 * Reads a whole body from Node's server. Rejects with FUNCTION_BODY_TOO_LARGE, FUNCTION_BODIES_FULL, or the reason for which
 * the connection ended.
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  limitBytes: number,
  hold: HoldBytes,
): Promise<Buffer> {
  const { socket } = request;
  const tooLarge = (): Error => requestBodyTooLarge({ limitBytes });
  if ((announcedLength(request) ?? 0) > limitBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    // The server closes a connection on which nothing arrives for so long.
    socket.setTimeout(limits.idleMs);
    const done = (): void => {
      socket.setTimeout(0);
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
    };
    const refuse = (error: Error): void => {
      request.pause();
      onError(error);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.byteLength;
      if (length > limitBytes) return refuse(tooLarge());
      if (!hold(chunk.byteLength)) return refuse(bodiesFull({}));
      chunks.push(chunk);
    };
    const onEnd = (): void => {
      done();
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length));
    };
    const onError = (error: Error): void => {
      done();
      reject(error);
    };
    const onClose = (): void => onError(new Error('The client closed the connection before the end of the body.'));
    request.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose);
  });
}
