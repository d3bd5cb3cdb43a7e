import { setMaxListeners } from 'node:events';
import { BackOff, sleep, type Clock, type Randomness } from '@drover/service-kit';
import { rejectOnAbort, withDeadline } from '../requests.js';
import { failureOfBus } from './failures.js';

/** The lock of a message or session. */
export interface RenewableLock {
  /** Monotonic time of its expiry as far as known. */
  readonly endsAtMs: number;
  /** Monotonic time until which it is renewed. */
  readonly renewUntilMs: number;
  /** Extends the lock and `endsAtMs`. */
  renew(): Promise<unknown>;
  /** Called once, when the lock has expired or the service reports that it is lost. The lock is removed. */
  onLost(error: unknown): void;
}

const retries = { firstMs: 250, maxMs: 5_000, factor: 2 };
/** The clock of the service may be ahead: a lock is taken for valid this long at least. */
const shortestLockMs = 1_000;
/** Bound of what a clock that is behind can do; the service itself has five minutes at most. */
const longestLockMs = 300_000;
/** Lower bound between two sweeps. */
const shortestSweepMs = 50;

/** Returns the monotonic end of a lock whose end the service has reported as wall-clock time. */
export function lockEndMs(clock: Clock, lockedUntilMs: number | undefined): number {
  const leftMs = lockedUntilMs === undefined ? 0 : lockedUntilMs - clock.now();
  return clock.monotonicMs() + Math.min(longestLockMs, Math.max(shortestLockMs, leftMs));
}

/**
 * Renews the locks of one listener at half of their remaining time, and reports those that are lost. One timer serves all
 * locks: most messages are settled long before it fires, so that a message costs an entry in a set.
 */
export class LockRenewals {
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  /** With the time at which the lock is renewed, or reported as lost; undefined while a renewal is in flight. */
  readonly #locks = new Map<RenewableLock, number | undefined>();
  readonly #closed = new AbortController();
  #cancelTimer: (() => void) | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor({ clock, randomness }: { readonly clock: Clock; readonly randomness: Randomness }) {
    this.#clock = clock;
    this.#randomness = randomness;
    setMaxListeners(0, this.#closed.signal); // one for each renewal in flight
  }

  add(lock: RenewableLock): void {
    const dueAtMs = this.#dueAtMs(lock);
    this.#locks.set(lock, dueAtMs);
    if (dueAtMs < this.#timerAtMs) this.#arm(dueAtMs);
  }

  /** Stops renewing. `onLost` is not called any more. */
  remove(lock: RenewableLock): void {
    this.#locks.delete(lock);
  }

  close(): void {
    this.#closed.abort();
    this.#cancelTimer?.();
    this.#locks.clear();
  }

  #dueAtMs({ endsAtMs, renewUntilMs }: RenewableLock): number {
    const nowMs = this.#clock.monotonicMs();
    const halfMs = nowMs + (endsAtMs - nowMs) / 2;
    return halfMs < renewUntilMs ? halfMs : endsAtMs;
  }

  #arm(dueAtMs: number): void {
    if (this.#closed.signal.aborted) return;
    this.#cancelTimer?.();
    this.#timerAtMs = dueAtMs;
    const delayMs = Math.max(shortestSweepMs, dueAtMs - this.#clock.monotonicMs());
    this.#cancelTimer = this.#clock.after(delayMs, () => this.#sweep());
  }

  #sweep(): void {
    this.#cancelTimer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [lock, dueAtMs] of this.#locks) {
      if (dueAtMs === undefined) continue;
      if (dueAtMs > nowMs) nextMs = Math.min(nextMs, dueAtMs);
      else if (nowMs >= lock.endsAtMs) this.#lose(lock, expired());
      else if (nowMs < lock.renewUntilMs) {
        this.#locks.set(lock, undefined);
        void this.#renew(lock);
      } else {
        this.#locks.set(lock, lock.endsAtMs);
        nextMs = Math.min(nextMs, lock.endsAtMs);
      }
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#arm(nextMs);
  }

  /** Retries while the lock lasts. Never rejects. */
  async #renew(lock: RenewableLock): Promise<void> {
    const backOff = new BackOff(retries, { clock: this.#clock, randomness: this.#randomness });
    while (this.#locks.has(lock)) {
      try {
        await this.#renewInTime(lock);
        if (this.#locks.has(lock)) this.add(lock);
        return;
      } catch (error) {
        const leftMs = lock.endsAtMs - this.#clock.monotonicMs();
        if (failureOfBus(error) === 'lock-lost' || leftMs <= 0) return this.#lose(lock, error);
        await sleep(this.#clock, Math.min(backOff.nextMs(), leftMs), this.#closed.signal).catch(() => undefined);
      }
    }
  }

  /** A renewal without an answer is given up when the lock ends. */
  async #renewInTime(lock: RenewableLock): Promise<void> {
    const leftMs = Math.max(shortestSweepMs, lock.endsAtMs - this.#clock.monotonicMs());
    await withDeadline(this.#clock, leftMs, this.#closed.signal, (signal) => rejectOnAbort(() => lock.renew(), signal));
  }

  #lose(lock: RenewableLock, error: unknown): void {
    if (this.#locks.delete(lock)) lock.onLost(error);
  }
}

function expired(): Error {
  return new Error('the lock expired: the message ran longer than maxAutoLockRenewalDuration');
}
