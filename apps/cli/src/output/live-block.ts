/** A block of lines at the end of a terminal that is replaced in place. */
export class LiveBlock {
  readonly #write: (text: string) => void;
  #height = 0;
  #shown = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Replaces the lines of the call before; writes nothing if they are the same. */
  show(lines: readonly string[], columns: number): void {
    const cut = lines.map((line) => line.slice(0, Math.max(1, columns - 1))); // a wrapped line would take two rows
    const text = cut.map((line) => `${line}\n`).join('');
    if (text === this.#shown) return;
    this.#write(`${this.#erase()}${text}`);
    this.#shown = text;
    this.#height = cut.length;
  }

  /** Writes a line above the block. */
  say(line: string): void {
    this.#write(`${this.#erase()}${line}\n${this.#shown}`);
  }

  #erase(): string {
    return this.#height > 0 ? `\u001b[${this.#height}A\r\u001b[J` : '';
  }
}
