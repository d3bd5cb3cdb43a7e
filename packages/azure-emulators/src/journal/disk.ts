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

/** Makes the names of a directory durable, after a rename. Windows cannot, and need not: it does not open directories. */
export function fsyncDirectory(directory: string): void {
  if (process.platform === 'win32') return;
  const file = openSync(directory, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
