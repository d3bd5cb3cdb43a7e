import { createWriteStream, renameSync, statSync, type WriteStream } from 'node:fs';

const rotateAtBytes = 10 * 1024 * 1024;

/** What one process printed, in a file of its own: at most 10 MB, and the 10 MB before. */
export class RoleLog {
  readonly #file: string;
  #stream: WriteStream | undefined;
  #bytes = 0;

  constructor(file: string) {
    this.#file = file;
  }

  write(line: string): void {
    if (!this.#stream || this.#bytes >= rotateAtBytes) this.#open();
    this.#bytes += Buffer.byteLength(line) + 1;
    this.#stream?.write(`${line}\n`);
  }

  async close(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream) await new Promise<void>((resolve) => stream.end(resolve));
  }

  #open(): void {
    this.#stream?.end();
    const size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    if (size >= rotateAtBytes) renameSync(this.#file, `${this.#file}.1`);
    this.#bytes = size >= rotateAtBytes ? 0 : size;
    this.#stream = createWriteStream(this.#file, { flags: 'a', mode: 0o600 });
    // A full disk must not end the platform for the sake of its log.
    this.#stream.on('error', () => undefined);
  }
}
