import type { Clock } from '@drover/service-kit';
import { notKeptYet } from './errors.js';

/** Longer than any commit of a database that is well. */
const keepWithinMs = 1_500;

/**
 * A store that does not answer holds no caller up. What it was asked to keep is kept or not without them; whoever asks again with
 * the same key is asking for that one.
 */
export function keptInTime(clock: Clock, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(keepWithinMs, () => reject(notKeptYet({})));
    work.then(
      () => {
        cancel();
        resolve();
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
