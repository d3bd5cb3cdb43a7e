import type { RoutableWorker } from '../workers/routable-worker.js';

/** A reserved invocation slot on a worker. */
export interface Reservation<Worker extends RoutableWorker> {
  readonly worker: Worker;
  /** Frees the slot. Safe to call twice. */
  release(): void;
}

/** Chooses workers. Without a filter, the cost of a choice is independent of the number of workers. */
export interface RoutingPolicy<Worker extends RoutableWorker> {
  add(worker: Worker): void;
  /** Stops choosing the worker. Reservations on it can still be released. */
  remove(worker: Worker): void;
  /** Looks again whether the worker may be handed a call. */
  refresh(worker: Worker): void;
  /** Returns undefined if no worker has a free slot and may be handed a call. `accepts` leaves workers out; with it, the cost grows with their number. */
  reserve(accepts?: (worker: Worker) => boolean): Reservation<Worker> | undefined;
  /** All workers that can be chosen, with or without a free slot. */
  workers(): Iterable<Worker>;
  /** Number of workers that can be chosen. */
  readonly size: number;
  /** Free slots of all workers that can be chosen. */
  readonly free: number;
  /** Whether a worker with a free slot may not be handed a call now. */
  readonly isPaced: boolean;
}
