/** Collects what a job prints, up to a limit. */
export class BoundedOutput {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** False when it was too much: then nothing is kept any more. */
  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#limitBytes) {
      this.#chunks.push(chunk);
      return true;
    }
    this.#chunks = [];
    return false;
  }

  get isTooMuch(): boolean {
    return this.#bytes > this.#limitBytes;
  }

  toBuffer(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

const tailBytes = 8_192;
const maxLineLength = 1_000;

/** The end of what a job writes to standard error, however much that is. */
export class OutputTail {
  #tail = Buffer.alloc(0);

  add(chunk: Buffer): void {
    const both = Buffer.concat([this.#tail, chunk.subarray(-tailBytes)]);
    this.#tail = both.subarray(-tailBytes);
  }

  /** Without what would move the cursor or colour the terminal of whoever reads it. */
  get lastLine(): string {
    const lines = this.#tail.toString('utf8').split(/[\r\n]+/);
    const clean = lines.map((line) =>
      line
        // oxlint-disable-next-line no-control-regex -- those are meant
        .replaceAll(/\u001b\[[0-?]*[ -/]*[@-~]/g, '')
        // oxlint-disable-next-line no-control-regex -- those are meant
        .replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
        .trim(),
    );
    return (clean.findLast((line) => line !== '') ?? '').slice(0, maxLineLength);
  }
}
