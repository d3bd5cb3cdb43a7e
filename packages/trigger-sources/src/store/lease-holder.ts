import { readFileSync, readlinkSync } from 'node:fs';
import type { Randomness } from '@drover/service-kit';

/**
 * Returns a name for a new holder of leases: unique, and on Linux with the process that it lives in, so that a restarted runtime
 * need not wait for the leases of the process that was killed.
 */
export function newHolder(randomness: Pick<Randomness, 'uuid'>): string {
  const place = processSpace();
  return place === undefined ? randomness.uuid() : `${randomness.uuid()} ${place} ${process.pid}`;
}

/** Whether the process of a holder is known to have ended. False for one elsewhere: only its silence tells. */
export function isEnded(holder: string): boolean {
  const [, place, pid] = /^\S+ (\S+) (\d+)$/.exec(holder) ?? [];
  if (place === undefined || place !== processSpace() || Number(pid) === process.pid) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

/** Names what makes process ids comparable: this start of the kernel, and its namespace of process ids, which a container has. */
function processSpace(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined; // not Linux
  }
}
