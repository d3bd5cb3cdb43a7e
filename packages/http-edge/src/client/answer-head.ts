import { carriageReturn, colon, digitOf, isText, isToken, space, tab } from './characters.js';
import { ClientFault } from './client-fault.js';

/** How long an idle connection is kept if the server does not say. Many close after five seconds, and the client must be first. */
const usualKeepMs = 4_000;
const longestKeepMs = 60_000;
/** The answer was in transit for a part of the time that the server grants. */
const earlierMs = 1_000;

const versionBegin = 'HTTP/1.';
/** `HTTP/1.1 200` and what must follow it. */
const fixedCharacters = 13;

/** Reads status and headers of an answer line by line, and what they mean for its length and for the connection. */
export class AnswerHead {
  status = 0;
  /** The words behind the status. */
  statusText = '';
  /** Names and values in turn, as received; slices of one text, so that none of them is copied. */
  readonly headers: string[] = [];
  /** -1: not given. */
  contentLength = -1;
  isChunked = false;
  #keepMs = usualKeepMs;
  #isOld = false;
  #closes = false;

  /** How long the connection may be idle after this answer. 0: it must not be used again. */
  get keepMs(): number {
    return this.#closes || this.#isOld ? 0 : this.#keepMs;
  }

  /** A status that no body follows, whatever the headers say. */
  get isBodiless(): boolean {
    return this.status === 204 || this.status === 304;
  }

  /** Checks the first characters as they arrive, from `place` on: other protocols may never end a line. Throws `ClientFault`. */
  checkBegin(text: string, place: number): void {
    const most = Math.min(text.length, fixedCharacters - place);
    for (let at = 0; at < most; at += 1) if (!fits(place + at, text.charCodeAt(at))) throw notHttp();
  }

  /** Reads one line, given without its end; the first must have passed `checkBegin`. Returns true for the empty line that ends the head. */
  take(text: string, from: number, to: number): boolean {
    if (this.status === 0) this.#takeStatus(text, from, to);
    else if (from === to) return true;
    else this.#takeHeader(text, from, to);
    return false;
  }

  #takeStatus(text: string, from: number, to: number): void {
    this.#isOld = text.charCodeAt(from + versionBegin.length) === 0x30;
    for (let at = from + 9; at < from + 12; at += 1) this.status = this.status * 10 + digitOf(text.charCodeAt(at));
    checkText(text, from + 12, to);
    this.statusText = text.slice(from + 13, to);
  }

  #takeHeader(text: string, from: number, to: number): void {
    let nameEnd = from;
    while (nameEnd < to && isToken(text.charCodeAt(nameEnd))) nameEnd += 1;
    if (nameEnd === from || nameEnd === to || text.charCodeAt(nameEnd) !== colon) throw notHttp();
    let start = nameEnd + 1;
    let end = to;
    while (start < end && isBlank(text.charCodeAt(start))) start += 1;
    while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
    checkText(text, start, end);
    const name = text.slice(from, nameEnd);
    const value = text.slice(start, end);
    this.headers.push(name, value);
    // No name of another length is looked at: connection, keep-alive, content-length, transfer-encoding.
    if (name.length === 10 || name.length === 14 || name.length === 17) this.#heed(name.toLowerCase(), value);
  }

  #heed(name: string, value: string): void {
    switch (name) {
      case 'connection':
        if (value !== 'keep-alive' && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(value)) this.#closes = true;
        break;
      case 'keep-alive': {
        const seconds = /(?:^|[,; \t])timeout=(\d{1,9})(?!\d)/i.exec(value)?.[1];
        if (seconds !== undefined)
          this.#keepMs = Math.min(longestKeepMs, Math.max(0, Number(seconds) * 1_000 - earlierMs));
        break;
      }
      case 'content-length': {
        const length = lengthIn(value);
        if (this.isChunked || (this.contentLength !== -1 && this.contentLength !== length))
          throw new ClientFault('ANSWER_AMBIGUOUS');
        this.contentLength = length;
        break;
      }
      case 'transfer-encoding':
        if (this.contentLength !== -1 || this.isChunked) throw new ClientFault('ANSWER_AMBIGUOUS');
        // No other encoding was asked for, and HTTP/1.0 has none: a server or proxy in between did not understand the header.
        if (this.#isOld || value.toLowerCase() !== 'chunked') throw notHttp();
        this.isChunked = true;
        break;
    }
  }
}

function fits(place: number, code: number): boolean {
  if (place < 7) return code === versionBegin.charCodeAt(place);
  if (place === 7) return code === 0x30 || code === 0x31;
  if (place === 8) return code === space;
  if (place === 9) return digitOf(code) > 0;
  if (place < 12) return digitOf(code) !== -1;
  return code === space || code === carriageReturn;
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}

function checkText(text: string, from: number, to: number): void {
  for (let at = from; at < to; at += 1) if (!isText(text.charCodeAt(at))) throw notHttp();
}

/** Exact for every length that is accepted; longer ones stay too long. */
function lengthIn(value: string): number {
  if (value === '') throw notHttp();
  let length = 0;
  for (let at = 0; at < value.length; at += 1) {
    const digit = digitOf(value.charCodeAt(at));
    if (digit === -1) throw notHttp();
    length = length * 10 + digit;
  }
  return length;
}

function notHttp(): ClientFault {
  return new ClientFault('ANSWER_NOT_HTTP');
}
