import { chown, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FunctionsUser } from '../functions-user.js';

const name = /^drover-job-(\d+)-/;
/** Longer than any attempt with its grace period: in a folder that containers share, the pid alone proves nothing. */
const staleMs = 900_000;

/** Creates an empty directory for one job, with the pid of this process in its name. It belongs to the user of the job alone. */
export async function makeJobDirectory(user?: FunctionsUser, root: string = tmpdir()): Promise<string> {
  const directory = await mkdtemp(path.join(root, `drover-job-${process.pid}-`));
  if (user) await chown(directory, user.uid, user.gid);
  return directory;
}

/** Removes it. Missing permissions or files do not fail the job. */
export async function removeJobDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true }).catch(() => undefined);
}

/** Removes directories of processes that were killed, since payloads may be in them. */
export async function removeStaleJobDirectories(nowMs: number, root: string = tmpdir()): Promise<void> {
  for (const entry of await readdir(root).catch(() => [])) {
    const pid = Number(name.exec(entry)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    const directory = path.join(root, entry);
    const facts = await stat(directory).catch(() => undefined);
    if (facts?.isDirectory() && nowMs - facts.mtimeMs > staleMs) await removeJobDirectory(directory);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
