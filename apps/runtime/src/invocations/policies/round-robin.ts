import type { RoutableWorker } from '../../workers/routable-worker.js';
import type { Reservation, RoutingPolicy } from '../routing-policy.js';
import { hasRoom, SlotTable, type WorkerSlots } from './slot-table.js';

/** Chooses workers with a free slot in turn. */
export class RoundRobin<Worker extends RoutableWorker> implements RoutingPolicy<Worker> {
  /** Workers with room, in the order of their turns. */
  readonly #turns = new Set<WorkerSlots<Worker>>();
  readonly #slots = new SlotTable<Worker>((slots) => this.#update(slots));

  get size(): number {
    return this.#slots.size;
  }

  get free(): number {
    return this.#slots.free;
  }

  add(worker: Worker): void {
    const slots = this.#slots.add(worker);
    if (slots) this.#update(slots);
  }

  remove(worker: Worker): void {
    const slots = this.#slots.remove(worker);
    if (slots) this.#turns.delete(slots);
  }

  get isPaced(): boolean {
    return this.#slots.isPaced;
  }

  refresh(worker: Worker): void {
    const slots = this.#slots.find(worker);
    if (slots) this.#update(slots);
  }

  workers(): Iterable<Worker> {
    return this.#slots.workers();
  }

  reserve(accepts?: (worker: Worker) => boolean): Reservation<Worker> | undefined {
    const slots = accepts ? [...this.#turns].find(({ worker }) => accepts(worker)) : firstOf(this.#turns);
    if (!slots) return undefined;
    this.#turns.delete(slots);
    this.#turns.add(slots);
    return this.#slots.reserve(slots);
  }

  /** One that is in the set keeps its turn. */
  #update(slots: WorkerSlots<Worker>): void {
    if (hasRoom(slots)) this.#turns.add(slots);
    else this.#turns.delete(slots);
  }
}

function firstOf<T>(turns: ReadonlySet<T>): T | undefined {
  const [first] = turns;
  return first;
}
