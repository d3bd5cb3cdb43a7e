import { BackOff, sleep } from '@drover/service-kit';
import { requestTimeoutMs, withDeadline } from '../requests.js';
import { HeldLease, type LeaseOptions } from './held-lease.js';
import { isEnded, newHolder } from './lease-holder.js';
import { encodeLease, parseLease } from './lease-record.js';
import type { StoredState } from './trigger-store.js';

const firstPollMs = 250;
const storeBackOff = { firstMs: 200, maxMs: 10_000, factor: 2 };

/**
 * Lets one runtime at a time do something, by a state that its holder keeps rewriting. A runtime that saw the same version for the
 * whole time to live, by its own monotonic clock, takes over by compare-and-set: no clocks of two machines are compared. What the
 * lease protects is in the same state (`HeldLease.write`), so the write of a former holder is refused by its version.
 */
export class Lease {
  readonly #options: LeaseOptions;
  /** Unique for each object: two versions of an application in one process compete like two processes. */
  readonly #holder: string;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#holder = newHolder(options.randomness);
  }

  /** Resolves when the lease is acquired, however long that takes; rejects only with the reason of the signal. */
  async acquire(signal: AbortSignal): Promise<HeldLease> {
    const { clock, ttlMs } = this.#options;
    const failures = new BackOff(storeBackOff, this.#options);
    let watched: { readonly version: string; readonly sinceMs: number } | undefined;
    let pollMs = firstPollMs;
    for (;;) {
      signal.throwIfAborted();
      try {
        const found = await this.#request(signal, (limited) => this.#options.store.read(this.#options.key, limited));
        failures.reset();
        // After the read: the holder may have written until then.
        if (found && watched?.version !== found.version)
          watched = { version: found.version, sinceMs: clock.monotonicMs() };
        const silentMs = watched ? clock.monotonicMs() - watched.sinceMs : 0;
        const held = await this.#tryToTake(found, silentMs, signal);
        if (held) return held;
        await sleep(clock, Math.min(pollMs, Math.max(1, ttlMs - silentMs)), signal);
        pollMs = Math.min(pollMs * 2, ttlMs / 3);
      } catch {
        signal.throwIfAborted();
        await failures.wait(signal); // the store observes its outages
      }
    }
  }

  /** Resolves with the state that the lease protects, as its holder wrote it last. */
  async peek(signal: AbortSignal): Promise<string | undefined> {
    const found = await this.#request(signal, (limited) => this.#options.store.read(this.#options.key, limited));
    return found && parseLease(found.value).state;
  }

  async #tryToTake(
    found: StoredState | undefined,
    silentMs: number,
    signal: AbortSignal,
  ): Promise<HeldLease | undefined> {
    const { store, key, ttlMs, clock, randomness, observe } = this.#options;
    const record = found && parseLease(found.value);
    // A record of this object is a write whose answer was lost.
    const isFree = !found || !record?.holder || record.holder === this.#holder || isEnded(record.holder);
    if (!isFree && silentMs < ttlMs) return undefined;
    const sentMs = clock.monotonicMs();
    const value = encodeLease({ holder: this.#holder, write: randomness.uuid(), state: record?.state });
    const version = await this.#request(signal, (limited) => store.write(key, value, found?.version, limited));
    if (version === undefined) return undefined;
    observe({ kind: 'lease.acquired', key, after: isFree ? 'free' : 'silence' });
    return new HeldLease({
      ...this.#options,
      holder: this.#holder,
      version,
      sentMs,
      state: record?.state,
    });
  }

  #request<T>(signal: AbortSignal, call: (limited: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, ttlMs } = this.#options;
    return withDeadline(clock, Math.min(ttlMs, requestTimeoutMs), signal, call);
  }
}
