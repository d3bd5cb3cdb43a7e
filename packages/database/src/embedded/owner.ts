import { link, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Randomness } from '@drover/service-kit';
import { readIfThere } from './durable-files.js';
import { inUse } from './errors.js';
import { errnoOf } from './file-faults.js';
import { isRunning, startTimeOf } from './processes.js';

/** The process that answers for a cluster. The start time tells it from a later process with the same pid. */
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
    return undefined; // half-written by a crash: nobody's
  }
}

/** Whether that very process still runs. */
export function livesOn(owner: Owner): boolean {
  if (!isRunning(owner.pid)) return false;
  const startTime = startTimeOf(owner.pid);
  return owner.startTime === undefined || startTime === undefined || owner.startTime === startTime;
}

/**
 * Makes this process the owner of `home`, or throws EMBEDDED_POSTGRES_IN_USE while another one lives. Two who find the
 * same dead owner in the same instant are not told apart here; `drover up` locks the whole data directory before.
 */
export async function claimHome(home: string, randomness: Randomness): Promise<() => Promise<void>> {
  const file = path.join(home, 'owner');
  const draft = `${file}.new-${randomness.bytes(6).toString('hex')}`;
  const owner: Owner = { pid: process.pid, ...startTimeIfKnown(process.pid) };
  await writeFile(draft, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  try {
    for (;;) {
      try {
        await link(draft, file); // unlike rename, refuses to replace
        return () => rm(file, { force: true });
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
      }
      const other = parseOwner((await readIfThere(file)) ?? '');
      if (other && livesOn(other)) throw inUse({ directory: home, pid: other.pid, file });
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
