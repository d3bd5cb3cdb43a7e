import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf } from './file-faults.js';

const run = promisify(execFile);

/** True while the kernel knows the pid, zombies and other people's processes included. */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

/** State letter and start time (in ticks since boot) out of /proc/<pid>/stat; the command's name may hold anything. */
export function parseStat(text: string): { readonly state: string; readonly startTime: string } | undefined {
  // After the last parenthesis come the fields from number 3 on; the start time is number 22.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, startTime] = [fields[0], fields[19]];
  return state === undefined || startTime === undefined ? undefined : { state, startTime };
}

/** When the process began, in a form that only compares; undefined where the system does not tell. */
export function startTimeOf(pid: number): string | undefined {
  const text = readProc(`${pid}/stat`);
  return text === undefined ? undefined : parseStat(text)?.startTime;
}

/** True while the process runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  if (!pidExists(pid)) return false;
  const text = readProc(`${pid}/stat`);
  const state = text === undefined ? undefined : parseStat(text)?.state;
  return state !== 'Z' && state !== 'X';
}

/** The command line as one string; empty when there is no such process. */
export async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return (readProc(`${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim();
  try {
    return (await run('ps', ['-o', 'command=', '-p', String(pid)])).stdout.trim();
  } catch {
    return ''; // ps ends with 1 when it finds nobody
  }
}

/** Pids of the processes whose command begins with `start`; none where there is no /proc. */
export function processesNamed(start: string): readonly number[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => readProc(`${pid}/cmdline`)?.startsWith(start)).map(Number);
}

function readProc(name: string): string | undefined {
  try {
    return readFileSync(`/proc/${name}`, 'utf8');
  } catch {
    return undefined; // no /proc here, or the process is gone
  }
}

/** Sends a signal; a process that is gone has got it. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error;
  }
}
