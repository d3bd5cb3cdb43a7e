import type { RoutableWorker } from '../../workers/routable-worker.js';
import type { Reservation, RoutingPolicy } from '../routing-policy.js';
import { Seats, type Seat } from './seats.js';

/** One after the other, whoever has room. */
export class RoundRobin<Worker extends RoutableWorker> implements RoutingPolicy<Worker> {
  /** Those with room, the next one first. */
  readonly #line = new Set<Seat<Worker>>();
  readonly #seats = new Seats<Worker>((seat, before) => {
    if (seat.taken >= seat.worker.limit) this.#line.delete(seat);
    else if (before >= seat.worker.limit) this.#line.add(seat);
  });

  get size(): number {
    return this.#seats.size;
  }

  get free(): number {
    return this.#seats.free;
  }

  add(worker: Worker): void {
    const seat = this.#seats.add(worker);
    if (seat && seat.taken < worker.limit) this.#line.add(seat);
  }

  remove(worker: Worker): void {
    const seat = this.#seats.remove(worker);
    if (seat) this.#line.delete(seat);
  }

  reserve(): Reservation<Worker> | undefined {
    const [seat] = this.#line;
    if (!seat) return undefined;
    this.#line.delete(seat);
    this.#line.add(seat);
    return this.#seats.take(seat);
  }
}
