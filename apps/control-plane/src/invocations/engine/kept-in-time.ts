import type { Clock } from '@drover/service-kit';
import { notKeptYet } from '../errors.js';

/** Longer than any commit of a database that is well. */
const keepWithinMs = 1_500;

/**
 * Resolves with `answer` once everything is kept. A store that does not answer holds no caller up: what it was asked to keep is
 * kept or not without them, and whoever asks again with the same key is asking for that one.
 */
export function keptInTime<T>(clock: Clock, keeping: Iterable<Promise<unknown>>, answer: T): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(keepWithinMs, () => reject(notKeptYet({})));
    const [first, second] = keeping;
    const work = second || !first ? Promise.all(keeping) : first;
    work.then(
      () => {
        cancel();
        resolve(answer);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
