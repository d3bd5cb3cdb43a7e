import { carriageReturn, colon, hexDigitOf, isText, isToken, lineFeed, semicolon } from './characters.js';
import { ClientFault } from './client-fault.js';
import type { GrowingBytes } from './growing-bytes.js';

/**
 * The byte that is expected next.
 *
 * - size: of a chunk's length; `extension`: of the text behind it; `size-end`: the line feed that ends both
 * - data: of the chunk itself; `data-end` and `data-end-feed`: of the line end behind it
 * - trailer: the first of a line behind the last chunk; `trailer-name`, `trailer-value`, `trailer-end`: in such a line
 * - last-feed: the last one
 * - whole: none
 */
type Place =
  | 'size'
  | 'extension'
  | 'size-end'
  | 'data'
  | 'data-end'
  | 'data-end-feed'
  | 'trailer'
  | 'trailer-name'
  | 'trailer-value'
  | 'trailer-end'
  | 'last-feed'
  | 'whole';

/** Leading zeros included; no accepted body needs more. */
const mostDigits = 16;

/** Decodes a chunked body. Chunk extensions and trailers are dropped, and limited in size. */
export class ChunkedBody {
  readonly #into: GrowingBytes;
  readonly #maxBytes: number;
  #place: Place = 'size';
  #digits = 0;
  /** Bytes of the chunk that have not arrived. */
  #missing = 0;
  /** Bytes of extensions and trailers that may still arrive. */
  #room: number;

  constructor(into: GrowingBytes, limits: { readonly maxBodyBytes: number; readonly maxHeadBytes: number }) {
    this.#into = into;
    this.#maxBytes = limits.maxBodyBytes;
    this.#room = limits.maxHeadBytes;
  }

  get isWhole(): boolean {
    return this.#place === 'whole';
  }

  /** Decodes `bytes` from `from` to `to`. Returns where it stopped: at `to`, or behind the end of the body. */
  take(bytes: Buffer, from: number, to: number): number {
    let at = from;
    while (at < to && this.#place !== 'whole') {
      if (this.#place === 'data') {
        const end = Math.min(to, at + this.#missing);
        this.#into.append(bytes, at, end);
        this.#missing -= end - at;
        if (this.#missing === 0) this.#place = 'data-end';
        at = end;
      } else {
        // `at` is within the bytes.
        this.#place = this.#follow(bytes[at] ?? 0);
        at += 1;
      }
    }
    return at;
  }

  #follow(byte: number): Place {
    switch (this.#place) {
      case 'size':
        return this.#size(byte);
      case 'extension':
        return byte === carriageReturn ? 'size-end' : this.#leaveOut(isText(byte), 'extension');
      case 'size-end':
        this.#digits = 0;
        return only(byte === lineFeed, this.#missing === 0 ? 'trailer' : 'data');
      case 'data-end':
        return only(byte === carriageReturn, 'data-end-feed');
      case 'data-end-feed':
        return only(byte === lineFeed, 'size');
      case 'trailer':
        return byte === carriageReturn ? 'last-feed' : this.#leaveOut(isToken(byte), 'trailer-name');
      case 'trailer-name':
        return byte === colon ? 'trailer-value' : this.#leaveOut(isToken(byte), 'trailer-name');
      case 'trailer-value':
        return byte === carriageReturn ? 'trailer-end' : this.#leaveOut(isText(byte), 'trailer-value');
      case 'trailer-end':
        return only(byte === lineFeed, 'trailer');
      case 'last-feed':
        return only(byte === lineFeed, 'whole');
      case 'data':
      case 'whole':
        return this.#place;
    }
  }

  #size(byte: number): Place {
    const digit = hexDigitOf(byte);
    if (digit === -1) {
      if (this.#digits === 0) throw new ClientFault('ANSWER_NOT_HTTP');
      return byte === semicolon ? 'extension' : only(byte === carriageReturn, 'size-end');
    }
    this.#digits += 1;
    this.#missing = this.#missing * 16 + digit;
    if (this.#into.length + this.#missing > this.#maxBytes) throw new ClientFault('ANSWER_BODY_TOO_LARGE');
    return only(this.#digits <= mostDigits, 'size');
  }

  #leaveOut(isAllowed: boolean, next: Place): Place {
    this.#room -= 1;
    if (this.#room < 0) throw new ClientFault('ANSWER_HEAD_TOO_LARGE');
    return only(isAllowed, next);
  }
}

function only(isAllowed: boolean, next: Place): Place {
  if (!isAllowed) throw new ClientFault('ANSWER_NOT_HTTP');
  return next;
}
