import { access } from 'node:fs/promises';
import { sleep, type Clock } from '@drover/service-kit';

const lookEveryMs = 50;

/** Resolves when a file exists. Rejects with the reason of the signal. */
export async function untilFileExists(file: string, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!(await exists(file))) await sleep(clock, lookEveryMs, signal);
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch {
    return false;
  }
}
