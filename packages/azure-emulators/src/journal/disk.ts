import { closeSync, fdatasync, fsyncSync, openSync, writeSync } from 'node:fs';

/** The operations of a journal that fail when a disk is full or broken. */
export interface Disk {
  /**
   * Writes to the page cache. Not asynchronous: a copy of some kilobytes takes less time than a thread of the pool takes to begin
   * (a fifth of the CPU of a request, with 32 senders).
   */
  write(file: number, bytes: Buffer, offset: number): void;
  /** Resolves when all written bytes survive a power failure. */
  sync(file: number): Promise<void>;
}

export const realDisk: Disk = {
  write(file, bytes, offset) {
    for (let start = 0; start < bytes.length; ) {
      start += writeSync(file, bytes, start, bytes.length - start, offset + start);
    }
  },
  sync: (file) => new Promise((resolve, reject) => fdatasync(file, (error) => (error ? reject(error) : resolve()))),
};

/** Codes of file systems that have no such operation: network and shared folders, Windows for directories. */
export const notOffered: ReadonlySet<string> = new Set([
  'EINVAL',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EPERM',
  'EISDIR',
]);

export const fileErrorCode = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''; // node:fs throws nothing else

/** Makes the names of a directory durable, after a rename, where the file system can. */
export function fsyncDirectory(directory: string): void {
  if (process.platform === 'win32') return; // it does not open directories
  const file = openSync(directory, 'r');
  try {
    fsyncSync(file);
  } catch (error) {
    if (!notOffered.has(fileErrorCode(error))) throw error;
  } finally {
    closeSync(file);
  }
}
