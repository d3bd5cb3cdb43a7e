/** Methods whose requests have nothing of their own to be parsed. HEAD is among them: its answer is what differs. */
export type FastLaneMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** A complete request whose head needs no more than a look. */
export interface FastLaneRequest {
  readonly method: FastLaneMethod;
  /** As it was sent: path and query. */
  readonly url: string;
  /** By name in lower case. Each name occurs once. */
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
  /** Head and body together: longer requests go to Node's server, which reads them in parts. */
  readonly requestBytes: number;
}

/** A request without its body. */
export interface FastLaneRequestHead extends Omit<FastLaneRequest, 'body'> {
  /** As it was received, up to the body. */
  readonly bytes: Buffer;
  readonly contentLength: number;
}

/**
 * What the bytes at the head of a connection are.
 *
 * - request: a complete one, in the first `length` bytes
 * - part: the beginning of one; `length` is 0 until its head is complete
 * - other: anything else, valid or not: Node's server has to read it
 */
export type Reading =
  | { readonly kind: 'request'; readonly head: FastLaneRequestHead; readonly body: Buffer; readonly length: number }
  | { readonly kind: 'part'; readonly length: number }
  | { readonly kind: 'other' };

const headEnd = Buffer.from('\r\n\r\n');
/** Visible ASCII, spaces and tabs, in lines that end with both characters. */
const lines = /^[\t\x20-\x7e]+(?:\r\n[\t\x20-\x7e]+)*$/;
const requestLine = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (\/[\x21-\x7e]*) HTTP\/1\.1$/;
/** Narrower than the standard: nearly all names match, and no property of `Object.prototype` does. */
const fieldName = /^[A-Za-z0-9-]+$/;
const digits = /^\d{1,9}$/;
const other: Reading = { kind: 'other' };
const noBody = Buffer.alloc(0);

/** These headers change how a message is read, or how its connection goes on; Node has a list for the value of `set-cookie`. */
const notPlain = new Set([
  'content-encoding',
  'expect',
  'http2-settings',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Parses a request that is plain in every respect; anything doubtful is 'other'. `latest` is the head before on the same
 * connection: most clients repeat it byte for byte, and then it is not parsed again.
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
  const [, name, url = ''] = requestLine.exec(lineEnd < 0 ? head : head.slice(0, lineEnd)) ?? [];
  if (name === undefined || url.length > limits.addressBytes) return other;
  const fields = readFields(head, lineEnd < 0 ? head.length : lineEnd + 2, limits.headers);
  const method = name as FastLaneMethod; // one of those that the pattern lists
  return fields ? { method, url, ...fields, bytes: bytes.subarray(0, end + headEnd.length) } : other;
}

/** Header names in lower case, by how clients write them. Bounded: a client could invent names. */
const knownNames = new Map<string, string>();
const maxKnownNames = 256;

function lowerCaseName(written: string): string | undefined {
  if (!fieldName.test(written)) return undefined;
  const name = written.toLowerCase();
  if (notPlain.has(name)) return undefined;
  if (knownNames.size < maxKnownNames) knownNames.set(written, name);
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
    const name = knownNames.get(written) ?? lowerCaseName(written);
    const value = trimmed(head, colon + 1, end);
    // Undefined: not plain. Defined already: the name occurs twice.
    if (name === undefined || headers[name] !== undefined) return undefined;
    // Node's parser takes either of them for what the client wants of its connection.
    if ((name === 'connection' || name === 'proxy-connection') && value.toLowerCase() !== 'keep-alive')
      return undefined;
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
