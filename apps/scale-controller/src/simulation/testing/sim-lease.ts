import type { StoredApplication, StoredWorker } from '../../placement/placement-types.js';
import type { SimClock } from './sim-clock.js';

/** The database: the lease, and the desired state that only its token may change. */
export class SimDatabase {
  token = 0;
  #holder: { readonly id: string; readonly isAlive: () => boolean } | undefined;
  #expiresAtMs = 0;
  readonly workers = new Map<string, StoredWorker>();
  readonly applications = new Map<string, StoredApplication>();
  readonly #clock: SimClock;
  readonly #acceptsAnyToken: boolean;

  constructor(clock: SimClock, acceptsAnyToken: boolean) {
    this.#clock = clock;
    this.#acceptsAnyToken = acceptsAnyToken;
  }

  /** Returns the token of a new term; undefined if another process holds the lease. */
  acquire(id: string, isAlive: () => boolean, ttlMs: number): number | undefined {
    const isFree = !this.#holder || !this.#holder.isAlive() || this.#expiresAtMs <= this.#clock.nowMs;
    if (!isFree) return undefined;
    this.#holder = { id, isAlive };
    this.#expiresAtMs = this.#clock.nowMs + ttlMs;
    this.token += 1;
    return this.token;
  }

  renew(id: string, token: number, ttlMs: number): boolean {
    if (this.#holder?.id !== id || this.token !== token) return false;
    this.#expiresAtMs = this.#clock.nowMs + ttlMs;
    return true;
  }

  /** Returns whether the change was accepted. */
  write(token: number, change: () => void): boolean {
    if (token !== this.token && !this.#acceptsAnyToken) return false;
    change();
    return true;
  }
}
