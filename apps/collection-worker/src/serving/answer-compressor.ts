import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createGzip, gzip } from 'node:zlib';

export type ContentCoding = 'br' | 'gzip';

export interface AnswerCompressorOptions {
  /** Shorter bodies are not compressed: it would cost more than it saves. 0: none is. */
  readonly fromBytes: number;
  /** Bodies that are compressed at a time, and as many streams; further ones go out as they are. */
  readonly maxConcurrent: number;
}

/** Fast levels: on JSON the next ones take twice the time for a twentieth of the bytes. */
const gzipOptions = { level: 4 };
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 18 } };
const [gzipBody, brotliBody] = [promisify(gzip), promisify(brotliCompress)];

/** Compresses answers on other threads, a bounded number at a time: under load, answers become longer and not later. */
export class AnswerCompressor {
  readonly #options: AnswerCompressorOptions;
  #bodies = 0;
  #streams = 0;

  constructor(options: AnswerCompressorOptions) {
    this.#options = options;
  }

  /** Whether a body of that length is compressed for clients that accept it. */
  isWorth(bytes: number): boolean {
    const { fromBytes } = this.#options;
    return fromBytes > 0 && bytes >= fromBytes;
  }

  /** Returns undefined if too many are being compressed. */
  compress(body: string | Buffer, coding: ContentCoding): Promise<Buffer> | undefined {
    if (this.#bodies >= this.#options.maxConcurrent) return undefined;
    this.#bodies += 1;
    const compressed = coding === 'br' ? brotliBody(body, brotliOptions) : gzipBody(body, gzipOptions);
    return compressed.finally(() => (this.#bodies -= 1));
  }

  /** Returns the parts of a gzip stream; undefined if too many are being written. The caller must read it, or return from it. */
  compressStream(body: AsyncIterable<string>): AsyncIterable<Buffer> | undefined {
    const { fromBytes, maxConcurrent } = this.#options;
    if (fromBytes === 0 || this.#streams >= maxConcurrent) return undefined;
    this.#streams += 1;
    // An error of either ends both, and reaches the reader of the compressed stream.
    return pipeline(Readable.from(body), createGzip(gzipOptions), () => (this.#streams -= 1));
  }
}

/** Returns the coding of `Accept-Encoding` that an answer gets; undefined if it is sent as it is. */
export function acceptedCoding(header: string | undefined): ContentCoding | undefined {
  if (header === undefined) return undefined;
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((one) => one.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(coding, q === undefined ? 1 : Number(q.slice(2)) || 0);
  }
  const any = weights.get('*') ?? 0;
  const [br, gz] = [weights.get('br') ?? any, weights.get('gzip') ?? any];
  if (br <= 0 && gz <= 0) return undefined;
  return br >= gz ? 'br' : 'gzip';
}
