import type { IncomingMessage } from 'node:http';
import { bodiesFull, requestBodyTooLarge } from './errors.js';
import type { Exchange } from './exchange.js';
import type { ByteBudget } from './byte-budget.js';

export interface BodyLimits {
  readonly bytes: number;
  readonly idleMs: number;
  /** Of all bodies that are held at the moment. */
  readonly budget: ByteBudget;
}

/** Whether a request says that it has a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** How long the body is, where the request says so. */
export function announcedLength({ headers }: IncomingMessage): number | undefined {
  return headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
}

/**
 * Reads a whole body; what it takes of the budget is given back when the exchange ends. Rejects with
 * FUNCTION_BODY_TOO_LARGE, FUNCTION_BODIES_FULL, or the reason for which the connection ended.
 */
export function readBody(exchange: Exchange, limits: BodyLimits): Promise<Buffer> {
  const { request } = exchange;
  const { socket } = request;
  const tooLarge = (): Error => requestBodyTooLarge({ limitBytes: limits.bytes });
  if ((announcedLength(request) ?? 0) > limits.bytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    // Who sends nothing for so long is cut off by the server itself.
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
      if (length > limits.bytes) return refuse(tooLarge());
      if (!exchange.hold(chunk.byteLength, limits.budget)) return refuse(bodiesFull({}));
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
    const onClose = (): void => onError(new Error('the connection ended before the body did'));
    request.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose);
  });
}
