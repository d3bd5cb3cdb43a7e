import { diskFull, startFailed } from './errors.js';
import type { Exit } from './postmaster.js';

export interface ExitFacts {
  readonly exit: Exit;
  readonly logFile: string;
  /** What this run of the server wrote there. */
  readonly written: string;
  /** The disk that holds the cluster. */
  readonly path: string;
  readonly freeBytes: number;
}

const linesShown = 15;
// Too little for a line in the log and a lock file: a server on such a disk cannot even say what is wrong.
const nothingFree = 256 * 1024;

/** Processes of the previous server still use its memory: trying again in a moment helps. */
export function isMemoryInUse(written: string): boolean {
  return /pre-existing shared memory block .*is still in use/.test(written);
}

/** Why a server exited before it was ready, as far as its log and its disk tell. */
export function explainExit({ exit, logFile, written, path, freeBytes }: ExitFacts): Error {
  if (written.includes('No space left on device') || freeBytes < nothingFree) return diskFull({ path });
  const lines = written.trimEnd().split('\n').slice(-linesShown).join('\n');
  return startFailed({ log: logFile, exit: describeExit(exit), lines: lines === '' ? '(nothing)' : lines });
}

export function describeExit({ code, signal }: Exit): string {
  return signal ? `ended by ${signal}` : `exit code ${code}`;
}
