import { link, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Randomness } from '@drover/service-kit';
import { readIfExists } from './durable-files.js';
import { inUse } from './errors.js';
import { errnoOf } from './file-faults.js';
import { isRunning, startTimeOf } from './processes.js';

/** The process that owns a cluster. The start time distinguishes it from a later process with the same pid. */
export interface Owner {
  readonly pid: number;
  readonly startTime?: string;
}

export function parseOwner(text: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value) || typeof value.pid !== 'number')
      return undefined;
    const startTime = 'startTime' in value && typeof value.startTime === 'string' ? value.startTime : undefined;
    return startTime === undefined ? { pid: value.pid } : { pid: value.pid, startTime };
  } catch {
    return undefined; // truncated by a crash: no owner
  }
}

/** True while the owner, and not a later process with its pid, runs. */
export function isOwnerRunning(owner: Owner): boolean {
  if (!isRunning(owner.pid)) return false;
  const startTime = startTimeOf(owner.pid);
  return owner.startTime === undefined || startTime === undefined || owner.startTime === startTime;
}

/**
 * Makes this process the owner of `base`, or throws EMBEDDED_POSTGRES_IN_USE while another owner runs. Returns the function that
 * releases it. Two processes that find the same dead owner at the same moment could both succeed; `drover up` rules that out by
 * locking the whole data directory before.
 */
export async function claimDirectory(base: string, randomness: Randomness): Promise<() => Promise<void>> {
  const file = path.join(base, 'owner');
  const draft = `${file}.new-${randomness.bytes(6).toString('hex')}`;
  const owner: Owner = { pid: process.pid, ...startTimeIfKnown(process.pid) };
  await writeFile(draft, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  try {
    for (;;) {
      try {
        await link(draft, file); // unlike rename, fails if the file exists
        return () => rm(file, { force: true });
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
      }
      const other = parseOwner((await readIfExists(file)) ?? '');
      if (other && isOwnerRunning(other)) throw inUse({ directory: base, pid: other.pid, file });
      await rm(file, { force: true });
    }
  } finally {
    await rm(draft, { force: true });
  }
}

function startTimeIfKnown(pid: number): { readonly startTime?: string } {
  const startTime = startTimeOf(pid);
  return startTime === undefined ? {} : { startTime };
}
