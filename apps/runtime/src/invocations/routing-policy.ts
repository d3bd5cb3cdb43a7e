import type { RoutableWorker } from '../workers/routable-worker.js';

/** A place on a worker, until it is given back. */
export interface Reservation<Worker extends RoutableWorker> {
  readonly worker: Worker;
  /** Gives the place back. Safe to call twice. */
  release(): void;
}

/**
 * Chooses workers. Each of its steps costs the same however many workers there are. It returns a place on a worker, or
 * nothing when none that may be chosen has room.
 */
export interface RoutingPolicy<Worker extends RoutableWorker> {
  add(worker: Worker): void;
  /** It is not chosen again; places that are taken can still be given back. */
  remove(worker: Worker): void;
  reserve(sessionKey?: string): Reservation<Worker> | undefined;
  /** Workers that may be chosen. */
  readonly size: number;
  /** Free places on all of them. */
  readonly free: number;
}
