import type { RoutableWorker } from '../../workers/routable-worker.js';
import type { Reservation, RoutingPolicy } from '../routing-policy.js';
import { Seats, type Seat } from './seats.js';

/**
 * The worker with the fewest invocations, and among those the one that waited longest. Workers stand in rows by how many they
 * have, which changes by one at a time: so the next one is found without looking at the others.
 */
export class LeastLoaded<Worker extends RoutableWorker> implements RoutingPolicy<Worker> {
  /** By number of places taken; those without room stand in no row. */
  readonly #rows: Set<Seat<Worker>>[] = [];
  /** No row before this one has anybody in it. */
  #first = 0;
  readonly #seats = new Seats<Worker>((seat, before) => {
    this.#rows[before]?.delete(seat);
    this.#line(seat);
  });

  get size(): number {
    return this.#seats.size;
  }

  get free(): number {
    return this.#seats.free;
  }

  add(worker: Worker): void {
    const seat = this.#seats.add(worker);
    if (seat) this.#line(seat);
  }

  remove(worker: Worker): void {
    const seat = this.#seats.remove(worker);
    if (seat) this.#rows[seat.taken]?.delete(seat);
  }

  reserve(): Reservation<Worker> | undefined {
    for (; this.#first < this.#rows.length; this.#first += 1) {
      const [seat] = this.#rows[this.#first] ?? [];
      if (seat) return this.#seats.take(seat);
    }
    return undefined;
  }

  /** A place on this very worker, if it may be chosen and has room. */
  reserveOn(id: string): Reservation<Worker> | undefined {
    const seat = this.#seats.get(id);
    return seat && seat.taken < seat.worker.limit ? this.#seats.take(seat) : undefined;
  }

  has(id: string): boolean {
    return this.#seats.get(id) !== undefined;
  }

  #line(seat: Seat<Worker>): void {
    if (seat.taken >= seat.worker.limit) return;
    (this.#rows[seat.taken] ??= new Set()).add(seat);
    this.#first = Math.min(this.#first, seat.taken);
  }
}
