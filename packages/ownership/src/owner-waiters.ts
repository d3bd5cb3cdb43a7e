import type { Clock } from '@drover/service-kit';
import { movingOwner, type OwnerLocation } from './owner-directory.js';

/** Requests that wait until a partition has an owner. Beyond `maxWaiting`, `wait` resolves with `moving` at once. */
export class OwnerWaiters {
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #waiting = new Map<number, Set<(location: OwnerLocation) => void>>();
  #count = 0;

  constructor(clock: Clock, maxWaiting = 10_000) {
    this.#clock = clock;
    this.#maxWaiting = maxWaiting;
  }

  /** Resolves with the location that `resolve` reports, or with `moving` after `withinMs`. */
  wait(partition: number, withinMs: number): Promise<OwnerLocation> {
    if (this.#count >= this.#maxWaiting) return Promise.resolve(movingOwner);
    const waiting = this.#waiting.get(partition) ?? new Set();
    this.#waiting.set(partition, waiting);
    this.#count += 1;
    return new Promise((resolve) => {
      const finish = (location: OwnerLocation): void => {
        cancel();
        if (waiting.delete(finish)) this.#count -= 1;
        resolve(location);
      };
      const cancel = this.#clock.after(withinMs, () => finish(movingOwner));
      waiting.add(finish);
    });
  }

  resolve(partition: number, location: OwnerLocation): void {
    for (const finish of this.#waiting.get(partition) ?? []) finish(location);
  }

  /** Ends every wait with `moving`. */
  abort(): void {
    for (const partition of this.#waiting.keys()) this.resolve(partition, movingOwner);
  }
}
