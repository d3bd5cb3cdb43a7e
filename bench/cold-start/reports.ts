import { execFileSync } from 'node:child_process';
import { createReadStream, type ReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Hears from functions which message has run, as soon as they have run: they write a line to a named pipe. A pipe loads no module of
 * Node.js in the process of a function, as a socket would, and a write takes microseconds.
 */
export class Reports {
  readonly file: string;
  readonly #stream: ReadStream;
  readonly #waiting = new Map<string, () => void>();

  private constructor(file: string) {
    this.file = file;
    this.#stream = createReadStream(file, { flags: 'r+' }); // a pipe that is also open for writing has no end
    createInterface(this.#stream).on('line', (message) => this.#waiting.get(message)?.());
  }

  static open(directory: string): Reports {
    const file = path.join(directory, 'reports');
    execFileSync('mkfifo', [file]);
    return new Reports(file);
  }

  /** Resolves when the message has run. */
  async of(message: string, withinMs = 30_000): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.set(message, resolve);
        timer = setTimeout(() => reject(new Error(`message ${message} has not run within ${withinMs} ms`)), withinMs);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(message);
    }
  }

  close(): void {
    this.#stream.destroy();
  }
}
