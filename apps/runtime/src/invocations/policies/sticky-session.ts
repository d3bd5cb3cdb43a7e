import type { RoutableWorker } from '../../workers/routable-worker.js';
import type { Reservation, RoutingPolicy } from '../routing-policy.js';
import { LeastLoaded } from './least-loaded.js';

/** Sessions that are remembered; the one that was quiet longest is forgotten first. */
const maxSessions = 100_000;

/**
 * Calls with the same key go to the same worker while it lives, and wait when it has no room. Calls without a key, and the
 * first of each session, go to the least loaded.
 */
export class StickySession<Worker extends RoutableWorker> implements RoutingPolicy<Worker> {
  readonly #workers = new LeastLoaded<Worker>();
  readonly #sessions = new Map<string, string>();

  get size(): number {
    return this.#workers.size;
  }

  get free(): number {
    return this.#workers.free;
  }

  add(worker: Worker): void {
    this.#workers.add(worker);
  }

  remove(worker: Worker): void {
    this.#workers.remove(worker);
  }

  reserve(sessionKey?: string): Reservation<Worker> | undefined {
    if (sessionKey === undefined) return this.#workers.reserve();
    const known = this.#sessions.get(sessionKey);
    const reservation =
      known !== undefined && this.#workers.has(known) ? this.#workers.reserveOn(known) : this.#workers.reserve();
    if (reservation) this.#remember(sessionKey, reservation.worker.id);
    return reservation;
  }

  #remember(sessionKey: string, workerId: string): void {
    this.#sessions.delete(sessionKey);
    this.#sessions.set(sessionKey, workerId);
    if (this.#sessions.size <= maxSessions) return;
    const [oldest] = this.#sessions.keys();
    if (oldest !== undefined) this.#sessions.delete(oldest);
  }
}
