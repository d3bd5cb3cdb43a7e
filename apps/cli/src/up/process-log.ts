import { createWriteStream, renameSync, statSync, type WriteStream } from 'node:fs';
import type { Lifecycle } from '@drover/service-kit';

const rotateAtBytes = 10 * 1024 * 1024;

/** Log file of one child process: at most 10 MB, and one rotated file of that size. */
export class ProcessLog implements Lifecycle {
  readonly name = 'process log';
  readonly #file: string;
  #stream: WriteStream | undefined;
  #bytes = 0;

  constructor(file: string) {
    this.#file = file;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream) await new Promise<void>((resolve) => stream.end(resolve));
  }

  write(line: string): void {
    if (!this.#stream || this.#bytes >= rotateAtBytes) this.#open();
    this.#bytes += Buffer.byteLength(line) + 1;
    this.#stream?.write(`${line}\n`);
  }

  #open(): void {
    this.#stream?.end();
    const size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    if (size >= rotateAtBytes) renameSync(this.#file, `${this.#file}.1`);
    this.#bytes = size >= rotateAtBytes ? 0 : size;
    this.#stream = createWriteStream(this.#file, { flags: 'a', mode: 0o600 });
    // A full disk must not end the platform because of its log.
    this.#stream.on('error', () => undefined);
  }
}
