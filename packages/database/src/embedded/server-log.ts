import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

const rotateAboveBytes = 10 * 1024 * 1024;
const readAtMostBytes = 64 * 1024;

/** The server's log: one file, appended to, and one older one beside it. */
export class ServerLog {
  readonly file: string;

  constructor(directory: string) {
    this.file = path.join(directory, 'server.log');
  }

  /** Opened for appending, and where what comes now begins. The older file takes over what has grown too large. */
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

  /** What was written since `offset`, the end of it if it is much. */
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
