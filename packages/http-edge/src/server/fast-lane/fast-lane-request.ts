/** A request that is all there, and has nothing in it that needs more than a look. */
export interface FastLaneRequest {
  readonly method: 'GET' | 'POST';
  /** As it was sent: path and query. */
  readonly url: string;
  /** By name in lower case. No name stands twice. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface FastLaneLimits {
  /** The request line and all headers together. */
  readonly headerBytes: number;
  readonly headers: number;
  readonly addressBytes: number;
  /** Everything together: what is longer goes to the server that can read it piece by piece. */
  readonly requestBytes: number;
}

/** Everything of a request but its body. */
export interface FastLaneRequestHead extends Omit<FastLaneRequest, 'body'> {
  /** As it came, up to the body. */
  readonly bytes: Buffer;
  readonly contentLength: number;
}

/**
 * What the bytes at the head of a connection are.
 *
 * - request: it takes the first `length` of them
 * - part: the beginning of one; `length` is known once its headers are complete, and 0 before
 * - other: anything else, good or bad: for a server that knows all of HTTP
 */
export type Reading =
  | { readonly kind: 'request'; readonly head: FastLaneRequestHead; readonly body: Buffer; readonly length: number }
  | { readonly kind: 'part'; readonly length: number }
  | { readonly kind: 'other' };

const headEnd = Buffer.from('\r\n\r\n');
/** Visible ASCII, spaces and tabs in lines that end as they should. Whatever else there is, is not plain. */
const lines = /^[\t\x20-\x7e]+(?:\r\n[\t\x20-\x7e]+)*$/;
const requestLine = /^(GET|POST) (\/[\x21-\x7e]*) HTTP\/1\.1$/;
/** Narrower than the standard: nearly all names are like this, and none of these means anything to an object. */
const fieldName = /^[A-Za-z0-9-]+$/;
const digits = /^\d{1,9}$/;
const other: Reading = { kind: 'other' };
const noBody = Buffer.alloc(0);

/** These change how a message is read, or what becomes of its connection. */
const notPlain = new Set([
  'content-encoding',
  'expect',
  'http2-settings',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Reads a request that is plain in every respect: where there is any doubt, it is none. `latest` is the one before on the same
 * connection: a client that says the same again, as most do, is understood at a glance.
 */
export function parseFastLaneRequest(bytes: Buffer, limits: FastLaneLimits, latest?: FastLaneRequestHead): Reading {
  const head = latest && beginsWith(bytes, latest.bytes) ? latest : readHead(bytes, limits);
  if ('kind' in head) return head;
  const { contentLength } = head;
  const bodyStart = head.bytes.length;
  const length = bodyStart + contentLength;
  if (length > limits.requestBytes) return other;
  if (length > bytes.length) return { kind: 'part', length };
  return { kind: 'request', head, body: contentLength === 0 ? noBody : bytes.subarray(bodyStart, length), length };
}

function beginsWith(bytes: Buffer, begin: Buffer): boolean {
  const { length } = begin;
  return bytes.length >= length && bytes.compare(begin, 0, length, 0, length) === 0;
}

function readHead(bytes: Buffer, limits: FastLaneLimits): FastLaneRequestHead | Reading {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return bytes.length > limits.headerBytes ? other : { kind: 'part', length: 0 };
  if (end > limits.headerBytes) return other;
  const head = bytes.toString('latin1', 0, end);
  if (!lines.test(head)) return other;
  const lineEnd = head.indexOf('\r\n');
  const [, method, url = ''] = requestLine.exec(lineEnd < 0 ? head : head.slice(0, lineEnd)) ?? [];
  if ((method !== 'GET' && method !== 'POST') || url.length > limits.addressBytes) return other;
  const fields = readFields(head, lineEnd < 0 ? head.length : lineEnd + 2, limits.headers);
  return fields ? { method, url, ...fields, bytes: bytes.subarray(0, end + headEnd.length) } : other;
}

/** As clients write them, and in lower case: there are few, and they come again and again. */
const plainNames = new Map<string, string>();
const mostNames = 256;

function toPlainName(written: string): string | undefined {
  if (!fieldName.test(written)) return undefined;
  const name = written.toLowerCase();
  if (notPlain.has(name)) return undefined;
  if (plainNames.size < mostNames) plainNames.set(written, name);
  return name;
}

interface Fields {
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
  readonly contentLength: number;
}

function readFields(head: string, from: number, most: number): Fields | undefined {
  const headers: Record<string, string> = {};
  const rawHeaders: string[] = [];
  for (let at = from; at < head.length; ) {
    const found = head.indexOf('\r\n', at);
    const end = found < 0 ? head.length : found;
    const colon = head.indexOf(':', at);
    if (colon < 0 || colon > end) return undefined;
    const written = head.slice(at, colon);
    const name = plainNames.get(written) ?? toPlainName(written);
    const value = trimmed(head, colon + 1, end);
    // Twice; also true of a name that every object has.
    if (name === undefined || headers[name] !== undefined) return undefined;
    if (name === 'connection' && value.toLowerCase() !== 'keep-alive') return undefined;
    headers[name] = value;
    rawHeaders.push(written, value);
    at = end + 2;
  }
  const { host, 'content-length': length = '0' } = headers;
  if (host === undefined || rawHeaders.length / 2 > most || !digits.test(length)) return undefined;
  return { headers, rawHeaders, contentLength: Number(length) };
}

function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
