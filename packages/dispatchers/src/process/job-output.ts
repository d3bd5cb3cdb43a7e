/** Collects the standard output of a job, up to a limit. */
export class BoundedOutput {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Returns false above the limit; the output is then discarded. */
  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#limitBytes) {
      this.#chunks.push(chunk);
      return true;
    }
    this.#chunks = [];
    return false;
  }

  get isAboveLimit(): boolean {
    return this.#bytes > this.#limitBytes;
  }

  toBuffer(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

const tailBytes = 8_192;
const maxLineLength = 1_000;

/** Keeps the end of the standard error of a job. */
export class OutputTail {
  #tail = Buffer.alloc(0);

  add(chunk: Buffer): void {
    const both = Buffer.concat([this.#tail, chunk.subarray(-tailBytes)]);
    this.#tail = both.subarray(-tailBytes);
  }

  /** The last line that is not empty, without escape sequences and control characters. */
  get lastLine(): string {
    const lines = this.#tail.toString('utf8').split(/[\r\n]+/);
    const clean = lines.map((line) =>
      line
        // oxlint-disable-next-line no-control-regex -- control characters are what it removes
        .replaceAll(/\u001b\[[0-?]*[ -/]*[@-~]/g, '')
        // oxlint-disable-next-line no-control-regex -- control characters are what it removes
        .replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
        .trim(),
    );
    return (clean.findLast((line) => line !== '') ?? '').slice(0, maxLineLength);
  }
}
