import type { RoutableWorker } from '../../workers/routable-worker.js';
import type { Reservation, RoutingPolicy } from '../routing-policy.js';
import { hasRoom, SlotTable, type WorkerSlots } from './slot-table.js';

/**
 * Chooses the worker with the fewest reservations, and among equals the one that has been idle longest. Workers are grouped
 * by their number of reservations, which changes by one at a time, so the next worker is found without a search.
 */
export class LeastLoaded<Worker extends RoutableWorker> implements RoutingPolicy<Worker> {
  /** Indexed by number of reservations. Workers without room are in no group. */
  readonly #groups: Set<WorkerSlots<Worker>>[] = [];
  /** All groups before this index are empty. */
  #first = 0;
  readonly #slots = new SlotTable<Worker>((slots, before) => {
    this.#groups[before]?.delete(slots);
    this.#group(slots);
  });

  get size(): number {
    return this.#slots.size;
  }

  get free(): number {
    return this.#slots.free;
  }

  add(worker: Worker): void {
    const slots = this.#slots.add(worker);
    if (slots) this.#group(slots);
  }

  remove(worker: Worker): void {
    const slots = this.#slots.remove(worker);
    if (slots) this.#groups[slots.reserved]?.delete(slots);
  }

  get isPaced(): boolean {
    return this.#slots.isPaced;
  }

  refresh(worker: Worker): void {
    const slots = this.#slots.find(worker);
    if (!slots) return;
    this.#groups[slots.reserved]?.delete(slots);
    this.#group(slots);
  }

  workers(): Iterable<Worker> {
    return this.#slots.workers();
  }

  reserve(accepts?: (worker: Worker) => boolean): Reservation<Worker> | undefined {
    if (accepts) return this.#reserveAccepted(accepts);
    for (; this.#first < this.#groups.length; this.#first += 1) {
      const [slots] = this.#groups[this.#first] ?? [];
      if (slots) return this.#slots.reserve(slots);
    }
    return undefined;
  }

  #reserveAccepted(accepts: (worker: Worker) => boolean): Reservation<Worker> | undefined {
    for (const group of this.#groups)
      for (const slots of group ?? []) if (accepts(slots.worker)) return this.#slots.reserve(slots);
    return undefined;
  }

  #group(slots: WorkerSlots<Worker>): void {
    if (!hasRoom(slots)) return;
    (this.#groups[slots.reserved] ??= new Set()).add(slots);
    this.#first = Math.min(this.#first, slots.reserved);
  }
}
