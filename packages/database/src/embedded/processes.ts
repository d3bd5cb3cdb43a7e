import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf } from './file-faults.js';

const run = promisify(execFile);

/** True while the kernel knows the pid, including zombies and processes of other users. */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

/** Parses state letter and start time (in ticks since boot) from /proc/<pid>/stat; the command's name may contain anything. */
export function parseStat(text: string): { readonly state: string; readonly startTime: string } | undefined {
  // Field 3 follows the last parenthesis; the start time is field 22.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, startTime] = [fields[0], fields[19]];
  return state === undefined || startTime === undefined ? undefined : { state, startTime };
}

/** Returns an opaque start time for comparison; undefined on systems without /proc. */
export function startTimeOf(pid: number): string | undefined {
  const text = readProc(`${pid}/stat`);
  return text === undefined ? undefined : parseStat(text)?.startTime;
}

/** True while the process runs; false for a zombie. */
export function isRunning(pid: number): boolean {
  if (!pidExists(pid)) return false;
  const text = readProc(`${pid}/stat`);
  const state = text === undefined ? undefined : parseStat(text)?.state;
  return state !== 'Z' && state !== 'X';
}

/** Returns the command line as one string; empty if the process does not exist. */
export async function commandLineOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return (readProc(`${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim();
  try {
    return (await run('ps', ['-o', 'command=', '-p', String(pid)])).stdout.trim();
  } catch {
    return ''; // ps exits with 1 if there is no such process
  }
}

/** Returns the pids of processes whose command line starts with `start`; none on systems without /proc. */
export function processesNamed(start: string): readonly number[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => readProc(`${pid}/cmdline`)?.startsWith(start)).map(Number);
}

function readProc(name: string): string | undefined {
  try {
    return readFileSync(`/proc/${name}`, 'utf8');
  } catch {
    return undefined; // no /proc, or the process has exited
  }
}

/** Sends a signal; ignores that the process has exited. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error;
  }
}
