import type { Clock } from '@drover/service-kit';
import type { OwnershipTable } from './ownership-table.js';

export interface ReplicaLeaseOptions {
  readonly table: Pick<OwnershipTable, 'join' | 'renew'>;
  readonly url: () => string;
  readonly ttlMs: number;
  /**
   * The lease has expired or was revoked. `cut-off`: this process ran and got no answer to its renewals. `in-doubt`: it was paused and
   * could not renew, or the database says that the lease is over; whether another replica took over has to be asked.
   */
  readonly onLost: (cause: 'cut-off' | 'in-doubt') => void;
  readonly clock: Clock;
}

/** A process that was paused has at most one renewal under way, and sends another one when it goes on. A running one sends four. */
const unansweredAfterPause = 2;

/**
 * The lease on this replica's row. The replica owns its partitions only while the lease is valid. Its lifetime is counted from before
 * each request that acquired or renewed it, by the monotonic clock, so it ends here before it ends on the server. A process that was
 * frozen learns that at its first question, before any timer has fired.
 */
export class ReplicaLease {
  readonly #options: ReplicaLeaseOptions;
  /** -Infinity while there is no lease. */
  #validUntilMs = -Infinity;
  /** Grows with every acquisition and every end, so that the answer to a request of an earlier lease is ignored. */
  #term = 0;
  /** Renewals since the last one that was answered. */
  #unanswered = 0;
  #cancelRenewal: () => void = () => undefined;
  #cancelExpiry: () => void = () => undefined;

  constructor(options: ReplicaLeaseOptions) {
    this.#options = options;
  }

  get isValid(): boolean {
    if (this.#options.clock.monotonicMs() < this.#validUntilMs) return true;
    // In a microtask: the caller may be the code that has to drop the work, in the middle of something else.
    if (this.#validUntilMs !== -Infinity) queueMicrotask(() => this.#expire());
    return false;
  }

  async acquire(): Promise<void> {
    const { table, url, ttlMs, clock } = this.#options;
    const term = (this.#term += 1);
    const askedMs = clock.monotonicMs();
    await table.join(url(), ttlMs);
    if (this.#term === term) this.#extend(askedMs);
  }

  /** Stops renewing. The caller drops what was owned; `onLost` is not called. */
  end(): void {
    this.#term += 1;
    this.#validUntilMs = -Infinity;
    this.#cancelRenewal();
    this.#cancelExpiry();
  }

  /** Ends the lease because the database says so, and calls `onLost`. */
  revoke(): void {
    if (this.#validUntilMs === -Infinity) return;
    const cause = this.#unanswered > unansweredAfterPause ? 'cut-off' : 'in-doubt';
    this.end();
    this.#options.onLost(cause);
  }

  #extend(askedMs: number): void {
    const { ttlMs } = this.#options;
    const untilMs = askedMs + ttlMs;
    if (untilMs <= this.#validUntilMs) return;
    this.#validUntilMs = untilMs;
    this.#unanswered = 0;
    this.#armExpiry();
    this.#renewAfter(ttlMs / 3);
  }

  #armExpiry(): void {
    const { clock } = this.#options;
    this.#cancelExpiry();
    this.#cancelExpiry = clock.after(this.#validUntilMs - clock.monotonicMs(), () => this.#expire());
  }

  #renewAfter(delayMs: number): void {
    this.#cancelRenewal();
    this.#cancelRenewal = this.#options.clock.after(delayMs, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { table, ttlMs, clock } = this.#options;
    const term = this.#term;
    const askedMs = clock.monotonicMs();
    // For the case that this request gets no answer; an answer postpones it.
    this.#renewAfter(ttlMs / 6);
    this.#unanswered += 1;
    const renewed = await table.renew(ttlMs).catch(() => undefined);
    if (this.#term !== term || renewed === undefined) return;
    this.#unanswered = 0;
    if (renewed) this.#extend(askedMs);
    else this.revoke();
  }

  #expire(): void {
    // A timer may fire a fraction of a millisecond early.
    if (this.#options.clock.monotonicMs() < this.#validUntilMs) this.#armExpiry();
    else this.revoke();
  }
}
