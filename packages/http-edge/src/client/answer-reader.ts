import { AnswerHead } from './answer-head.js';
import { carriageReturn } from './characters.js';
import { ChunkedBody } from './chunked-body.js';
import { ClientFault } from './client-fault.js';
import { GrowingBytes } from './growing-bytes.js';

export interface AnswerLimits {
  readonly maxHeadBytes: number;
  readonly maxBodyBytes: number;
}

/** What is known of an answer before its body. */
export interface AnswerBegin {
  readonly status: number;
  readonly statusText: string;
  /** Names and values in turn, as received. */
  readonly headers: readonly string[];
  /** -1: the server did not say. */
  readonly contentLength: number;
}

/** A whole answer. */
export interface Answer extends AnswerBegin {
  /** Undefined if empty. Without the parts that were taken before. */
  readonly body: Buffer | undefined;
}

/**
 * - head: in the status line or the headers, of the answer or of a hint before it
 * - length: in a body whose length is known
 * - chunks: in a body that comes in chunks
 * - until-end: in a body that ends with the connection
 * - whole: nothing is missing
 */
type Place = 'head' | 'length' | 'chunks' | 'until-end' | 'whole';

/** Most heads fit. Not larger, since a header that is kept in memory keeps the whole text it is a slice of. */
const textBytes = 1_024;
/** Informational answers (1xx) before one answer. Each costs the server a few bytes, and the client the work. */
const mostHints = 32;

/**
 * Reads one answer after the other from pieces of any size, which it copies. Strict: an answer that can be read in two ways is
 * refused, since a proxy in between may have read it the other way. After a fault the reader must not be used again.
 */
export class AnswerReader {
  readonly #limits: AnswerLimits;
  /** Of a line whose end has not come yet. */
  readonly #line = new GrowingBytes();
  readonly #body = new GrowingBytes();
  #chunks: ChunkedBody | undefined;
  #head = new AnswerHead();
  #place: Place = 'head';
  #headBytes = 0;
  #hints = 0;
  /** Of a body whose length is known. */
  #missing = 0;
  #hasMore = false;
  #isForHead = false;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
  }

  /** Undefined until all headers are there. */
  get begin(): AnswerBegin | undefined {
    return this.#place === 'head' ? undefined : this.#head;
  }

  /** How long the connection may be idle after the whole answer. 0: it must not be used again. */
  get keepMs(): number {
    // Bytes behind the answer must never be taken for the next answer.
    return this.#hasMore ? 0 : this.#head.keepMs;
  }

  /** The next answer is to a HEAD request: it ends with its head, whatever its headers say. */
  expectNoBody(): void {
    this.#isForHead = true;
  }

  /** Reads the first `length` of `bytes`. Returns true once the answer is whole. Throws `ClientFault`. */
  read(bytes: Buffer, length: number): boolean {
    let at = 0;
    while (at < length && this.#place !== 'whole') at = this.#step(bytes, at, length);
    if (at < length) this.#hasMore = true;
    return this.#place === 'whole';
  }

  /** Returns what has arrived of the body and not been taken before; undefined if that is nothing. */
  takePart(): Buffer | undefined {
    return this.#body.length === 0 ? undefined : this.#body.take();
  }

  /** The connection has ended, which completes an answer without a length. Throws `ClientFault` for any other. */
  end(): void {
    if (this.#place !== 'until-end') throw new ClientFault('CONNECTION_LOST');
    this.#hasMore = true;
    this.#place = 'whole';
  }

  /** Returns the whole answer and expects the next. */
  release(): Answer {
    const { status, statusText, headers, contentLength } = this.#head;
    const body = this.takePart();
    this.#expectHead();
    this.#hints = 0;
    this.#chunks = undefined;
    this.#isForHead = false;
    return { status, statusText, headers, contentLength, body };
  }

  #step(bytes: Buffer, from: number, to: number): number {
    switch (this.#place) {
      case 'head':
        return this.#stepHead(bytes, from, to);
      case 'length': {
        const end = Math.min(to, from + this.#missing);
        this.#body.append(bytes, from, end, this.#head.contentLength);
        this.#missing -= end - from;
        if (this.#missing === 0) this.#place = 'whole';
        return end;
      }
      case 'chunks': {
        const chunks = (this.#chunks ??= new ChunkedBody(this.#body, this.#limits));
        const end = chunks.take(bytes, from, to);
        if (chunks.isWhole) this.#place = 'whole';
        return end;
      }
      case 'until-end':
        this.#requireRoom(this.#body.length + to - from);
        this.#body.append(bytes, from, to);
        return to;
      case 'whole':
        return to;
    }
  }

  /** Reads line by line, up to the end of the head, of the bytes, or of what is decoded at a time. */
  #stepHead(bytes: Buffer, from: number, to: number): number {
    const until = Math.min(to, from + textBytes);
    const text = bytes.toString('latin1', from, until);
    this.#head.checkBegin(text, this.#headBytes);
    let at = 0;
    while (at < text.length) {
      const feed = text.indexOf('\n', at);
      const next = feed === -1 ? text.length : feed + 1;
      this.#headBytes += next - at;
      if (this.#headBytes > this.#limits.maxHeadBytes) throw new ClientFault('ANSWER_HEAD_TOO_LARGE');
      if (feed === -1) this.#line.append(bytes, from + at, until);
      else if (this.#takeLine(text, at, feed)) {
        this.#endHead();
        return from + next;
      }
      at = next;
    }
    return until;
  }

  #takeLine(text: string, from: number, feed: number): boolean {
    if (this.#line.length === 0) return takeWithout(this.#head, text, from, feed);
    const line = this.#line.take().toString('latin1') + text.slice(from, feed);
    return takeWithout(this.#head, line, 0, line.length);
  }

  #endHead(): void {
    const head = this.#head;
    if (head.status < 200) {
      this.#hints += 1;
      if (head.status === 101) throw new ClientFault('ANSWER_SWITCHES');
      if (this.#hints > mostHints) throw new ClientFault('ANSWER_NOT_HTTP');
      this.#expectHead();
    } else if (head.isBodiless || head.contentLength === 0 || this.#isForHead) {
      this.#place = 'whole';
    } else if (head.isChunked) {
      this.#place = 'chunks';
    } else if (head.contentLength > 0) {
      this.#place = 'length';
      this.#missing = head.contentLength;
      this.#requireRoom(head.contentLength);
    } else {
      this.#place = 'until-end';
    }
  }

  #requireRoom(length: number): void {
    if (length > this.#limits.maxBodyBytes) throw new ClientFault('ANSWER_BODY_TOO_LARGE');
  }

  #expectHead(): void {
    this.#head = new AnswerHead();
    this.#headBytes = 0;
    this.#place = 'head';
  }
}

/** Lines must end with both bytes: parsers differ in whether one of them alone ends a line. */
function takeWithout(head: AnswerHead, text: string, from: number, feed: number): boolean {
  if (feed === from || text.charCodeAt(feed - 1) !== carriageReturn) throw new ClientFault('ANSWER_NOT_HTTP');
  return head.take(text, from, feed - 1);
}
