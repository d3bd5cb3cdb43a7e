import type { RoutableWorker } from '../../workers/routable-worker.js';
import type { Reservation } from '../routing-policy.js';

/** One worker and how many of its places are taken: what every policy keeps. */
export interface Seat<Worker extends RoutableWorker> {
  readonly worker: Worker;
  taken: number;
  isListed: boolean;
}

/** Knows the places of all workers of a policy, and counts those that are free. */
export class Seats<Worker extends RoutableWorker> {
  readonly #seats = new Map<string, Seat<Worker>>();
  readonly #changed: (seat: Seat<Worker>, before: number) => void;
  #size = 0;
  #free = 0;

  /** `changed` hears of every place that is taken or given back on a worker that may be chosen. */
  constructor(changed: (seat: Seat<Worker>, before: number) => void) {
    this.#changed = changed;
  }

  get size(): number {
    return this.#size;
  }

  get free(): number {
    return this.#free;
  }

  get(id: string): Seat<Worker> | undefined {
    const seat = this.#seats.get(id);
    return seat?.isListed ? seat : undefined;
  }

  /** One that was removed with places taken comes back with them. */
  add(worker: Worker): Seat<Worker> | undefined {
    const known = this.#seats.get(worker.id);
    if (known?.isListed) return undefined;
    const seat = known ?? { worker, taken: 0, isListed: true };
    seat.isListed = true;
    this.#seats.set(worker.id, seat);
    this.#size += 1;
    this.#free += Math.max(0, worker.limit - seat.taken);
    return seat;
  }

  remove(worker: Worker): Seat<Worker> | undefined {
    const seat = this.#seats.get(worker.id);
    if (!seat?.isListed) return undefined;
    seat.isListed = false;
    this.#size -= 1;
    this.#free -= Math.max(0, worker.limit - seat.taken);
    if (seat.taken === 0) this.#seats.delete(worker.id);
    return seat;
  }

  take(seat: Seat<Worker>): Reservation<Worker> {
    this.#move(seat, 1);
    let held = true;
    return {
      worker: seat.worker,
      release: () => {
        if (!held) return;
        held = false;
        this.#move(seat, -1);
      },
    };
  }

  #move(seat: Seat<Worker>, by: 1 | -1): void {
    const before = seat.taken;
    seat.taken += by;
    if (seat.isListed) {
      this.#free -= by;
      this.#changed(seat, before);
    } else if (seat.taken === 0) this.#seats.delete(seat.worker.id);
  }
}
