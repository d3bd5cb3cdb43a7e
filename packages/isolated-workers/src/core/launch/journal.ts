import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { journalBytes } from './launch-parameters.js';

/**
 * Opens an unlinked file: its content survives the process that wrote it, and nothing has to be cleaned up. Returns undefined
 * when the directory for temporary files cannot hold it: a worker without a journal works, and only blame knows less.
 */
export function openJournal(): number | undefined {
  const file = path.join(tmpdir(), `isolated-worker-${process.pid}-${Math.random().toString(36).slice(2)}`);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'wx+', 0o600);
    unlinkSync(file);
    // Allocates the space now. Later writes replace these bytes, so that a disk that becomes full does not fail them.
    writeSync(descriptor, Buffer.alloc(journalBytes), 0, journalBytes, 0);
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    warnOfLostJournal((error as NodeJS.ErrnoException).code);
    return undefined;
  }
}

/** Returns the id of the request that the worker started last, 0 for none, undefined when it cannot be read. */
export function lastStartedIn(descriptor: number): number | undefined {
  try {
    const bytes = Buffer.alloc(journalBytes);
    return readSync(descriptor, bytes, 0, journalBytes, 0) === journalBytes ? bytes.readInt32LE(0) : undefined;
  } catch {
    return undefined;
  }
}

let hasWarned = false;

/** Warns once: the cause concerns every worker of this process, and every restart. */
export function warnOfLostJournal(code: string | undefined): void {
  // Without descriptors no worker can be started either, and that is reported.
  if (hasWarned || code === 'EMFILE' || code === 'ENFILE') return;
  hasWarned = true;
  process.emitWarning(
    `isolated-workers cannot record which requests a worker has started (${code} in ${tmpdir()}). After a crash all requests that it was sent count as started. Make the directory writable, or set TMPDIR to another one.`,
    { code: 'ISOLATED_WORKERS_NO_JOURNAL' },
  );
}
