import type { RoutableWorker } from '../../workers/routable-worker.js';
import type { Reservation } from '../routing-policy.js';

/** A worker and its load. */
export interface WorkerSlots<Worker extends RoutableWorker> {
  readonly worker: Worker;
  /** Number of reserved slots. */
  reserved: number;
  /** False after `remove` while reservations are still held. */
  isListed: boolean;
}

/** Whether it has a free slot and may be handed a call. */
export function hasRoom<Worker extends RoutableWorker>({ worker, reserved }: WorkerSlots<Worker>): boolean {
  return reserved < worker.limit && (worker.mayTake?.(reserved) ?? true);
}

/** The slot accounting that all routing policies share: reserved slots per worker, free slots of all listed workers. */
export class SlotTable<Worker extends RoutableWorker> {
  readonly #slots = new Map<string, WorkerSlots<Worker>>();
  readonly #onChange: (slots: WorkerSlots<Worker>, before: number) => void;
  #size = 0;
  #free = 0;

  /** Calls `onChange` after each reservation and release on a listed worker, with the reserved slots before it. */
  constructor(onChange: (slots: WorkerSlots<Worker>, before: number) => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#size;
  }

  get free(): number {
    return this.#free;
  }

  get isPaced(): boolean {
    for (const slots of this.#slots.values())
      if (slots.isListed && slots.reserved < slots.worker.limit && !hasRoom(slots)) return true;
    return false;
  }

  /** Returns undefined if the worker is not listed. */
  find(worker: Worker): WorkerSlots<Worker> | undefined {
    const slots = this.#slots.get(worker.id);
    return slots?.isListed ? slots : undefined;
  }

  /** Lists a worker; one that was removed with reservations comes back with them. Returns undefined if already listed. */
  add(worker: Worker): WorkerSlots<Worker> | undefined {
    const known = this.#slots.get(worker.id);
    if (known?.isListed) return undefined;
    const slots = known ?? { worker, reserved: 0, isListed: true };
    slots.isListed = true;
    this.#slots.set(worker.id, slots);
    this.#size += 1;
    this.#free += Math.max(0, worker.limit - slots.reserved);
    return slots;
  }

  /** Returns undefined if the worker was not listed. */
  remove(worker: Worker): WorkerSlots<Worker> | undefined {
    const slots = this.#slots.get(worker.id);
    if (!slots?.isListed) return undefined;
    slots.isListed = false;
    this.#size -= 1;
    this.#free -= Math.max(0, worker.limit - slots.reserved);
    if (slots.reserved === 0) this.#slots.delete(worker.id);
    return slots;
  }

  *workers(): Iterable<Worker> {
    for (const { worker, isListed } of this.#slots.values()) if (isListed) yield worker;
  }

  /** The caller has checked that a slot is free. */
  reserve(slots: WorkerSlots<Worker>): Reservation<Worker> {
    this.#change(slots, 1);
    let isHeld = true;
    return {
      worker: slots.worker,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#change(slots, -1);
      },
    };
  }

  #change(slots: WorkerSlots<Worker>, by: 1 | -1): void {
    const before = slots.reserved;
    slots.reserved += by;
    if (slots.isListed) {
      this.#free -= by;
      this.#onChange(slots, before);
    } else if (slots.reserved === 0) this.#slots.delete(slots.worker.id);
  }
}
