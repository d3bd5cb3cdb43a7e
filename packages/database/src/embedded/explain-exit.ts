import { diskFull, startFailed } from './errors.js';
import type { PostmasterExit } from './postmaster.js';

export interface ExitFacts {
  readonly exit: PostmasterExit;
  readonly logFile: string;
  /** The part of the log that this run of the server wrote. */
  readonly written: string;
  /** A path on the disk of the cluster. */
  readonly path: string;
  readonly freeBytes: number;
}

const linesShown = 15;
// Not enough for a log line and a lock file: on such a disk a server cannot even report the problem.
const noFreeBytes = 256 * 1024;

/** True if processes of the previous server still use its shared memory, so that a retry helps. */
export function isMemoryInUse(written: string): boolean {
  return /pre-existing shared memory block .*is still in use/.test(written);
}

/** Returns the reason why a server exited before it was ready, from its log and its disk. */
export function explainExit({ exit, logFile, written, path, freeBytes }: ExitFacts): Error {
  if (written.includes('No space left on device') || freeBytes < noFreeBytes) return diskFull({ path });
  const lines = written.trimEnd().split('\n').slice(-linesShown).join('\n');
  return startFailed({ log: logFile, exit: describeExit(exit), lines: lines === '' ? '(empty)' : lines });
}

export function describeExit({ code, signal }: PostmasterExit): string {
  return signal ? `ended by ${signal}` : `exit code ${code}`;
}
