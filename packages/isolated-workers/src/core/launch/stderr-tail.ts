import { thrownError } from './thrown-error.js';

const tailBytes = 4_096;
/** An error is looked for in more than is shown: the properties that Node prints after its stack can be long. */
const searchBytes = 32_768;

/** Keeps the end of a stream. */
export class StderrTail {
  #chunks: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): void {
    const part = chunk.length > searchBytes ? chunk.subarray(chunk.length - searchBytes) : chunk;
    this.#chunks.push(part);
    this.#bytes += part.length;
    if (this.#bytes > searchBytes * 2) this.#join();
  }

  /** Returns the error that ended the process, if it was printed. */
  thrown(endedByItself: boolean): Error | undefined {
    return this.#bytes === 0 ? undefined : thrownError(this.#join().toString('utf8'), endedByItself);
  }

  /** Returns the last 4 KiB. */
  toString(): string {
    const whole = this.#join();
    return whole.subarray(Math.max(0, whole.length - tailBytes)).toString('utf8');
  }

  #join(): Buffer {
    const all = Buffer.concat(this.#chunks);
    const whole = all.subarray(Math.max(0, all.length - searchBytes));
    this.#chunks = [whole];
    this.#bytes = whole.length;
    return whole;
  }
}
