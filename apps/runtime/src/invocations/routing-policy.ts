import type { RoutableWorker } from '../workers/routable-worker.js';

/** A reserved invocation slot on a worker. */
export interface Reservation<Worker extends RoutableWorker> {
  readonly worker: Worker;
  /** Frees the slot. Safe to call twice. */
  release(): void;
}

/** Chooses workers. The cost of every method is independent of the number of workers. */
export interface RoutingPolicy<Worker extends RoutableWorker> {
  add(worker: Worker): void;
  /** Stops choosing the worker. Reservations on it can still be released. */
  remove(worker: Worker): void;
  /** Returns undefined if no worker has a free slot. */
  reserve(): Reservation<Worker> | undefined;
  /** Number of workers that can be chosen. */
  readonly size: number;
  /** Free slots of all workers that can be chosen. */
  readonly free: number;
}
