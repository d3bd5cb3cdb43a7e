import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const name = /^drover-job-(\d+)-/;
/** Longer than any attempt may take, with grace: in a folder that containers share, a pid alone says little. */
const staleMs = 900_000;

/** An empty directory for one job; its name says whose it is. */
export function makeJobDirectory(root: string = tmpdir()): Promise<string> {
  return mkdtemp(path.join(root, `drover-job-${process.pid}-`));
}

/** What it made may be without rights, or gone: neither is a reason to fail. */
export async function removeJobDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true }).catch(() => undefined);
}

/** Removes those that were left behind by a process that was killed: payloads may lie in them. */
export async function removeStaleJobDirectories(nowMs: number, root: string = tmpdir()): Promise<void> {
  for (const entry of await readdir(root).catch(() => [])) {
    const pid = Number(name.exec(entry)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || isThere(pid)) continue;
    const directory = path.join(root, entry);
    const facts = await stat(directory).catch(() => undefined);
    if (facts?.isDirectory() && nowMs - facts.mtimeMs > staleMs) await removeJobDirectory(directory);
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
