import type { Clock } from '@drover/service-kit';
import { moving, type OwnerLocation } from './owner-directory.js';

/** Those who wait until a partition is somewhere. When `maxWaiting` do, a further one is calls at once that it moves. */
export class OwnerWaiters {
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #waiting = new Map<number, Set<(location: OwnerLocation) => void>>();
  #count = 0;

  constructor(clock: Clock, maxWaiting = 10_000) {
    this.#clock = clock;
    this.#maxWaiting = maxWaiting;
  }

  wait(partition: number, withinMs: number): Promise<OwnerLocation> {
    if (this.#count >= this.#maxWaiting) return Promise.resolve(moving);
    const waiting = this.#waiting.get(partition) ?? new Set();
    this.#waiting.set(partition, waiting);
    this.#count += 1;
    return new Promise((resolve) => {
      const finish = (location: OwnerLocation): void => {
        cancel();
        if (waiting.delete(finish)) this.#count -= 1;
        resolve(location);
      };
      const cancel = this.#clock.after(withinMs, () => finish(moving));
      waiting.add(finish);
    });
  }

  settle(partition: number, location: OwnerLocation): void {
    for (const finish of this.#waiting.get(partition) ?? []) finish(location);
  }

  giveUp(): void {
    for (const partition of this.#waiting.keys()) this.settle(partition, moving);
  }
}
