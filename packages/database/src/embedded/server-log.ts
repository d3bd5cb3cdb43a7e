import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

const rotateAboveBytes = 10 * 1024 * 1024;
const readAtMostBytes = 64 * 1024;

/** The server's log: one file that is appended to, and one rotated file. */
export class ServerLog {
  readonly file: string;

  constructor(directory: string) {
    this.file = path.join(directory, 'server.log');
  }

  /** Opens the log for appending, rotates it if it is too large, and returns where new lines start. */
  async open(): Promise<{ readonly handle: FileHandle; readonly offset: number }> {
    let handle = await open(this.file, 'a', 0o600);
    let offset = (await handle.stat()).size;
    if (offset > rotateAboveBytes) {
      await handle.close();
      await rename(this.file, `${this.file}.1`);
      handle = await open(this.file, 'a', 0o600);
      offset = 0;
    }
    return { handle, offset };
  }

  /** Returns what was written since `offset`, at most the last 64 KiB. */
  async since(offset: number): Promise<string> {
    const { size } = await stat(this.file);
    if (size <= offset) return '';
    const length = Math.min(size - offset, readAtMostBytes);
    const handle = await open(this.file, 'r');
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await handle.close();
    }
  }
}
