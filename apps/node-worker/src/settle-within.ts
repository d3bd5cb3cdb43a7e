import type { Clock } from '@drover/service-kit';

/** Settles as `work` does, or resolves to undefined after `delayMs`. */
export function settleWithin<T>(clock: Clock, delayMs: number, work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(delayMs, () => resolve(undefined));
    work.then(resolve, reject).finally(cancel);
  });
}
