import { LiveBlock } from './live-block.js';

/** Shows how far an upload is: one line in place on a terminal, nothing elsewhere until its end. */
export class UploadProgress {
  readonly #stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>;
  readonly #block: LiveBlock;

  constructor(stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>) {
    this.#stream = stream;
    this.#block = new LiveBlock((text) => void stream.write(text));
  }

  show(step: 'Packing' | 'Sending', done: number, of: number): void {
    if (!this.#stream.isTTY || of === 0) return;
    // All is sent, but the platform still unpacks it.
    const isUnpacked = step === 'Sending' && done === of;
    const line = isUnpacked ? 'Unpacking on the platform' : `${step} ${Math.floor((100 * done) / of)} %`;
    this.#block.show([line], this.#stream.columns || 80);
  }

  /** Replaces the line by the last one. */
  end(line: string): void {
    if (this.#stream.isTTY) this.#block.show([line], this.#stream.columns || 80);
    else this.#stream.write(`${line}\n`);
  }
}
