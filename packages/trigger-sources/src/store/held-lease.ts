import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { withDeadline } from '../requests.js';
import { encodeLease } from './lease-record.js';
import type { TriggerStoreObservation } from './observations.js';
import type { TriggerStore } from './trigger-store.js';

export interface LeaseOptions {
  readonly store: TriggerStore;
  readonly key: string;
  /** A holder that is silent for this long loses the lease. */
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TriggerStoreObservation>;
}

interface HeldLeaseOptions extends LeaseOptions {
  readonly holder: string;
  /** Of the write that acquired the lease. */
  readonly version: string;
  /** When that write was sent. */
  readonly sentMs: number;
  readonly state: string | undefined;
}

/** The holder stops this part of the time to live before others may start: clocks do not run at exactly the same speed. */
const margin = 0.1;
const renewBackOff = { firstMs: 100, maxMs: 5_000, factor: 2 };
const releaseWithinMs = 3_000;

/**
 * A lease that this runtime holds until `release`, or until `lost` aborts. It is renewed every third of its time to live. It ends
 * by the clock of this process, counted from before the last successful write was sent: that is earlier than any other runtime
 * can have seen the silence for the whole time.
 */
export class HeldLease {
  readonly #options: HeldLeaseOptions;
  readonly #lost = new AbortController();
  readonly #closed = new AbortController();
  /** Values of writes that failed and may have been applied, each with the time when it was sent. */
  readonly #uncertain = new Map<string, number>();
  #version: string;
  #state: string | undefined;
  #sentMs: number;
  /** Wall clock at the last successful write: while a machine sleeps, some monotonic clocks stand still. */
  #sentAt: number;
  /** The end of the queue of writes: each needs the version of the one before. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: HeldLeaseOptions) {
    this.#options = options;
    this.#version = options.version;
    this.#state = options.state;
    this.#sentMs = options.sentMs;
    this.#sentAt = options.clock.now() - (options.clock.monotonicMs() - options.sentMs);
    void this.#renew();
  }

  /** Aborts when the lease is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The state as it was written last, by this holder or one before. */
  get state(): string | undefined {
    return this.#state;
  }

  /** Replaces the state. Retries until the lease is lost; then it resolves with false, and the write may have been applied. */
  write(state: string): Promise<boolean> {
    return this.#enqueue(state);
  }

  /** Resolves with true if no other runtime holds the lease. Asks the store if time has passed unseen, as after a suspension. */
  confirm(): Promise<boolean> {
    const { clock, ttlMs } = this.#options;
    const ageMs = clock.now() - this.#sentAt;
    const isFresh = this.#remainingMs() > 0 && ageMs >= 0 && ageMs < ttlMs * (1 - margin);
    return isFresh && !this.#lost.signal.aborted ? Promise.resolve(true) : this.#enqueue(undefined);
  }

  /** Lets other runtimes acquire the lease at once. Without an answer of the store they wait for the time to live. */
  async release(): Promise<void> {
    this.#closed.abort(new Error('the lease is released'));
    await this.#last;
    if (this.#lost.signal.aborted) return;
    const { store, key, clock, randomness } = this.#options;
    const value = encodeLease({ holder: '', write: randomness.uuid(), state: this.#state });
    await withDeadline(clock, releaseWithinMs, new AbortController().signal, (signal) =>
      store.write(key, value, this.#version, signal),
    ).catch(() => undefined);
    this.#lost.abort(new Error('the lease is released'));
  }

  async #renew(): Promise<void> {
    const { clock, ttlMs } = this.#options;
    try {
      while (!this.#lost.signal.aborted) {
        await sleep(clock, ttlMs / 3, this.#closed.signal);
        await this.#enqueue(undefined);
      }
    } catch {
      // released
    }
  }

  /** Writes after all writes before it. An undefined state is a renewal. */
  #enqueue(state: string | undefined): Promise<boolean> {
    const written = this.#last.then(() => this.#put(state));
    this.#last = written;
    return written;
  }

  async #put(given: string | undefined): Promise<boolean> {
    const { store, key, holder, clock, randomness } = this.#options;
    const state = given ?? this.#state;
    const backOff = new BackOff(renewBackOff, this.#options);
    while (!this.#lost.signal.aborted) {
      const remainingMs = this.#remainingMs();
      if (remainingMs <= 0) return this.#lose('expired');
      const value = encodeLease({ holder, write: randomness.uuid(), state });
      const sentMs = clock.monotonicMs();
      try {
        const version = await withDeadline(clock, remainingMs, this.#lost.signal, (signal) =>
          store.write(key, value, this.#version, signal),
        );
        if (version !== undefined) return this.#written(version, sentMs, state);
        if (!(await this.#findOwnWrite(remainingMs))) return this.#lose('taken');
      } catch {
        this.#uncertain.set(value, sentMs);
        // Released or not, the wait is short: the state of the last run should be stored.
        await sleep(clock, Math.min(backOff.nextMs(), Math.max(0, this.#remainingMs())));
      }
    }
    return false;
  }

  /** A refused write may be refused because of an earlier one of this holder, whose answer was lost. */
  async #findOwnWrite(withinMs: number): Promise<boolean> {
    const { store, key, clock } = this.#options;
    const found = await withDeadline(clock, withinMs, this.#lost.signal, (signal) => store.read(key, signal));
    const sentMs = found && this.#uncertain.get(found.value);
    if (!found || sentMs === undefined) return false;
    this.#version = found.version;
    this.#sentMs = sentMs;
    return true;
  }

  #written(version: string, sentMs: number, state: string | undefined): true {
    const { clock } = this.#options;
    this.#version = version;
    this.#sentMs = sentMs;
    this.#sentAt = clock.now() - (clock.monotonicMs() - sentMs);
    this.#state = state;
    this.#uncertain.clear();
    return true;
  }

  #lose(reason: 'taken' | 'expired'): false {
    const { key, observe } = this.#options;
    this.#closed.abort(new Error('the lease is lost'));
    observe({ kind: 'lease.lost', key, reason });
    this.#lost.abort(new Error('another runtime may hold the lease'));
    return false;
  }

  #remainingMs(): number {
    const { clock, ttlMs } = this.#options;
    return this.#sentMs + ttlMs * (1 - margin) - clock.monotonicMs();
  }
}
