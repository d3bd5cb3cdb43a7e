import { forwardedLine, isHopByHop, namedByConnectionHeader } from '@drover/http-edge';
import type { PassedExchange } from './exchange.js';

/** Headers that only the runtime may set: a caller could name another invocation, or another address. It has met `expect` itself. */
const ours = new Set([
  'host',
  'x-ms-invocation-id',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-for',
  'content-length',
  'expect',
]);

export interface WorkerRequest {
  readonly httpUri: URL;
  readonly invocationId: string;
  /** As the caller knows this server. */
  readonly scheme: string;
  readonly host: string;
  /** Undefined: still on the connection. */
  readonly body: Buffer | undefined;
}

/**
 * Writes the head of a request for a worker's own server. Headers are those that the runtime has parsed and filtered, not the
 * bytes that the caller sent. Throws TypeError for values that no header may have.
 */
export function workerRequestHead(exchange: PassedExchange, request: WorkerRequest, path: string): string {
  const { method, headers, remoteAddress = 'unknown' } = exchange;
  const { httpUri, invocationId, scheme, host, body } = request;
  if (!target.test(path)) throw new TypeError('The path of the request has characters that are not allowed in a path.');
  const named = namedByConnectionHeader(['connection', headers.connection ?? '']);
  let text = `${method} ${path} HTTP/1.1\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || isHopByHop(name) || ours.has(name) || named?.has(name)) continue;
    if (typeof value === 'string') text += forwardedLine(name, value);
    else for (const one of value) text += forwardedLine(name, one);
  }
  const before = headers['x-forwarded-for'];
  text += forwardedLine('host', httpUri.host);
  text += forwardedLine('x-ms-invocation-id', invocationId);
  text += forwardedLine('x-forwarded-host', host);
  text += forwardedLine('x-forwarded-proto', scheme);
  text += forwardedLine(
    'x-forwarded-for',
    before === undefined ? remoteAddress : `${String(before)}, ${remoteAddress}`,
  );
  if (!body && headers['transfer-encoding'] !== undefined) text += forwardedLine('transfer-encoding', 'chunked');
  const length = body ? lengthOf(body) : headers['content-length'];
  if (length !== undefined) text += forwardedLine('content-length', length);
  return `${text}connection: keep-alive\r\n\r\n`;
}

const target = /^\/[\x21-\x7e\x80-\xff]*$/;

/** The length of a body that was read is known, whatever the caller announced. */
function lengthOf(body: Buffer): string | undefined {
  return body.byteLength > 0 ? String(body.byteLength) : undefined;
}
