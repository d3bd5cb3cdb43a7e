import { toErrorBody, type CodedError } from '@drover/contracts';
import type { HttpAnswer } from '../bindings/http-answer.js';
import type { Exchange } from './exchange.js';

/** Writes an answer whole. Says nothing to a connection that is gone. */
export function writeAnswer(exchange: Exchange, { status, headers, body }: HttpAnswer): void {
  const { response, extraHeaders, method } = exchange;
  if (exchange.isOver || response.headersSent) return;
  const list = extraHeaders.length === 0 ? [...headers] : withExtra(headers, extraHeaders);
  const isBodiless = status === 204 || status === 304;
  if (!isBodiless) list.push('content-length', String(lengthOf(body)));
  response.writeHead(status, list);
  if (isBodiless || method === 'HEAD' || body === undefined) response.end();
  else if (typeof body !== 'string' && body.byteLength <= smallBytes) response.end(toLatin1(body), 'latin1');
  else response.end(body);
}

/** Headers of a function, and those that go with every answer: what the function says itself is not said twice. */
export function withExtra(headers: readonly string[], extra: readonly string[]): string[] {
  const said = new Set(headers.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : '')));
  const list = [...headers];
  for (let index = 0; index + 1 < extra.length; index += 2)
    if (!said.has((extra[index] ?? '').toLowerCase())) list.push(extra[index] ?? '', extra[index + 1] ?? '');
  return list;
}

export function writeJson(exchange: Exchange, status: number, value: unknown, headers: readonly string[] = []): void {
  const answer = ['content-type', 'application/json; charset=utf-8', 'cache-control', 'no-store', ...headers];
  writeAnswer(exchange, { status, headers: answer, body: JSON.stringify(value) });
}

/** The one shape of every answer that is not a function's own. */
export function writeError(exchange: Exchange, error: CodedError | undefined, requestId: string): void {
  const { status, body } = toErrorBody(error, requestId);
  const headers = ['x-request-id', requestId, 'x-content-type-options', 'nosniff'];
  if (error?.retryable && (status === 503 || status === 429)) headers.push('retry-after', retryAfterSeconds);
  // What is left of its body would otherwise have to be read before the next request.
  if (!exchange.request.complete) headers.push('connection', 'close');
  writeJson(exchange, status, body, headers);
}

const retryAfterSeconds = '1';

/** A text goes out in one piece with the headers before it; bytes would be a second one, which costs more than to copy them. */
const smallBytes = 16_384;

/** Every byte as the character of that number, which is how it is written again. */
function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function lengthOf(body: string | Uint8Array | undefined): number {
  if (body === undefined) return 0;
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
}
