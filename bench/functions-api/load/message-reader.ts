/** One message of HTTP/1.1. */
export interface Message {
  /** Start line and headers, without the empty line. */
  readonly head: string;
  /** Without its chunks' sizes. Part of the chunk that was pushed: good until the callback returns. */
  readonly body: Buffer;
}

const endOfHead = '\r\n\r\n';
const lineEnd = '\r\n';
const nothing = Buffer.alloc(0);

/**
 * Finds the messages in what a socket gives, in whatever pieces it comes. Only for what we talk to: everybody says how long
 * the body is or sends it in chunks, and nobody sends trailers. Most messages come in one piece and are not copied.
 */
export class MessageReader {
  readonly #onMessage: (message: Message) => void;
  #pending: Buffer = nothing;

  constructor(onMessage: (message: Message) => void) {
    this.#onMessage = onMessage;
  }

  push(chunk: Buffer): void {
    let rest = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    for (let read = readMessage(rest); read; read = readMessage(rest)) {
      rest = rest.subarray(read.length);
      this.#onMessage(read.message);
    }
    // A copy: the socket writes the next chunk over this one.
    this.#pending = rest.length === 0 ? nothing : Buffer.from(rest);
  }
}

/** The first message and how many bytes it takes; undefined when it is not all there. */
function readMessage(bytes: Buffer): { readonly message: Message; readonly length: number } | undefined {
  const headLength = bytes.indexOf(endOfHead);
  if (headLength < 0) return undefined;
  const head = bytes.toString('latin1', 0, headLength);
  const from = headLength + endOfHead.length;
  const declared = headerOf(head, 'content-length');
  if (declared === undefined && headerOf(head, 'transfer-encoding') === 'chunked') {
    const chunked = readChunks(bytes, from);
    return chunked && { message: { head, body: chunked.body }, length: chunked.end };
  }
  const length = from + Number(declared ?? 0);
  if (bytes.length < length) return undefined;
  return { message: { head, body: bytes.subarray(from, length) }, length };
}

function readChunks(bytes: Buffer, from: number): { readonly body: Buffer; readonly end: number } | undefined {
  const chunks: Buffer[] = [];
  let at = from;
  for (;;) {
    const sizeEnd = bytes.indexOf(lineEnd, at);
    if (sizeEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, sizeEnd), 16);
    if (Number.isNaN(size)) throw new Error(`no size of a chunk: ${bytes.toString('latin1', at, sizeEnd)}`);
    const start = sizeEnd + lineEnd.length;
    at = start + size + lineEnd.length;
    if (bytes.length < at) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), end: at };
    chunks.push(bytes.subarray(start, start + size));
  }
}

/** The value of a header; `name` in lower case. */
export function headerOf(head: string, name: string): string | undefined {
  let lineStart = head.indexOf(lineEnd);
  while (lineStart >= 0) {
    const start = lineStart + lineEnd.length;
    lineStart = head.indexOf(lineEnd, start);
    const colon = start + name.length;
    if (head.charCodeAt(colon) !== 58 || head.slice(start, colon).toLowerCase() !== name) continue;
    return head.slice(colon + 1, lineStart < 0 ? undefined : lineStart).trim();
  }
  return undefined;
}

/** The status of an answer: "HTTP/1.1 200 OK". */
export function statusOf(head: string): number {
  return Number(head.slice(9, 12));
}
