import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileErrorCode, notOffered } from './disk.js';
import { JournalError } from './journal-error.js';

/**
 * Lets one process at a time write to a directory, by a file `lock` that names the process. The lock of a process that has ended, also by
 * kill -9 or with the machine, is taken over: a process is identified by its id, its start time and the boot of the machine where
 * the system tells these (Linux), because ids are used again, in containers almost always.
 *
 * Returns a function that releases the lock. Throws JOURNAL_LOCKED while another process, or this one, has the directory open.
 */
export function lockDirectory(directory: string): () => void {
  const file = path.join(directory, 'lock');
  const own = identityOf(process.pid);
  for (let attempt = 0; attempt < 10; attempt += 1) {
    if (createLock(file, own)) return () => releaseLock(file, own);
    const owner = readLock(file);
    if (owner === undefined) continue; // released in the meantime
    if (isRunning(owner)) throw locked(directory, owner);
    releaseLock(file, owner);
  }
  throw locked(directory, readLock(file) ?? 'unknown');
}

function locked(directory: string, owner: string): JournalError {
  const pid = owner.split(' ', 1)[0];
  const what = Number(pid) === process.pid ? `this process (${pid})` : `process ${pid}`;
  const next = 'Stop that process, or choose another data directory.';
  return new JournalError('JOURNAL_LOCKED', `The data directory ${directory} is in use by ${what}. ${next}`);
}

/** Creates the file with its content in one step: a link exists or does not. In two steps where there are no links. */
function createLock(file: string, own: string): boolean {
  const unnamed = `${file}.${process.pid}`;
  writeFileSync(unnamed, own);
  try {
    linkSync(unnamed, file);
    return true;
  } catch (error) {
    return notOffered.has(fileErrorCode(error)) ? createFile(file, own) : ifExists(error);
  } finally {
    rmSync(unnamed, { force: true });
  }
}

function createFile(file: string, own: string): boolean {
  try {
    writeFileSync(file, own, { flag: 'wx' });
    return true;
  } catch (error) {
    return ifExists(error);
  }
}

/** False for the error of a file that exists. Throws any other. */
function ifExists(error: unknown): false {
  if (fileErrorCode(error) === 'EEXIST') return false;
  throw error;
}

function readLock(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Removes a lock of this owner. Another process may have taken it over since. */
function releaseLock(file: string, owner: string): void {
  if (readLock(file) === owner) rmSync(file, { force: true });
}

function isRunning(owner: string): boolean {
  const pid = Number(owner.split(' ', 1)[0]);
  if (!Number.isInteger(pid) || pid <= 0) return false; // not written by lockDirectory
  try {
    process.kill(pid, 0);
  } catch (error) {
    return fileErrorCode(error) === 'EPERM'; // alive, and of another user
  }
  return identityOf(pid) === owner;
}

/** `pid start-time boot-id`, or the id alone where the system has no /proc. */
function identityOf(pid: number): string {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1) ?? '';
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${pid} ${afterName.split(' ')[19]} ${bootId}`;
  } catch {
    return `${pid}`;
  }
}
