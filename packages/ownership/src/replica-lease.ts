import type { Clock } from '@drover/service-kit';
import type { OwnershipTable } from './ownership-table.js';

export interface ReplicaLeaseOptions {
  readonly table: Pick<OwnershipTable, 'join' | 'renew'>;
  readonly url: () => string;
  readonly ttlMs: number;
  /** Everything held under the lease is lost. */
  readonly over: () => void;
  readonly clock: Clock;
}

/**
 * Our own row among the replicas: what we hold, we hold as long as it is in time. We count from before each request that
 * made or renewed it, by the clock that never jumps: so it is over for us before it is over for the server, and a process
 * that was frozen knows it at the first question, before any timer has fired.
 */
export class ReplicaLease {
  readonly #options: ReplicaLeaseOptions;
  #untilMs = -Infinity;
  /** Grows with every end: an answer that belongs to an earlier lease means nothing. */
  #epoch = 0;
  #cancelRenewal: () => void = () => undefined;
  #cancelExpiry: () => void = () => undefined;

  constructor(options: ReplicaLeaseOptions) {
    this.#options = options;
  }

  get valid(): boolean {
    if (this.#options.clock.monotonicMs() < this.#untilMs) return true;
    // Not at once: whoever asks is in the middle of something, and those who have to drop things may be the same.
    if (this.#untilMs !== -Infinity) queueMicrotask(() => this.#expire());
    return false;
  }

  async join(): Promise<void> {
    const { table, url, ttlMs, clock } = this.#options;
    const epoch = (this.#epoch += 1);
    const askedMs = clock.monotonicMs();
    await table.join(url(), ttlMs);
    if (this.#epoch === epoch) this.#extend(askedMs);
  }

  /** Nothing is renewed any more; who ends it sees to what was held. */
  end(): void {
    this.#epoch += 1;
    this.#untilMs = -Infinity;
    this.#cancelRenewal();
    this.#cancelExpiry();
  }

  #extend(askedMs: number): void {
    const { ttlMs } = this.#options;
    const untilMs = askedMs + ttlMs;
    if (untilMs <= this.#untilMs) return;
    this.#untilMs = untilMs;
    this.#armExpiry();
    this.#renewAfter(ttlMs / 3);
  }

  #armExpiry(): void {
    const { clock } = this.#options;
    this.#cancelExpiry();
    this.#cancelExpiry = clock.after(this.#untilMs - clock.monotonicMs(), () => this.#expire());
  }

  #renewAfter(delayMs: number): void {
    this.#cancelRenewal();
    this.#cancelRenewal = this.#options.clock.after(delayMs, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { table, ttlMs, clock } = this.#options;
    const epoch = this.#epoch;
    const askedMs = clock.monotonicMs();
    // Meant for the case that this one gets no answer: an answer puts the next one off.
    this.#renewAfter(ttlMs / 6);
    const renewed = await table.renew(ttlMs).catch(() => undefined);
    if (this.#epoch !== epoch || renewed === undefined) return;
    if (renewed) this.#extend(askedMs);
    else this.refuse();
  }

  /** The database says that it is over. */
  refuse(): void {
    if (this.#untilMs === -Infinity) return;
    this.end();
    this.#options.over();
  }

  #expire(): void {
    // A timer may fire a fraction of a millisecond early.
    if (this.#options.clock.monotonicMs() < this.#untilMs) this.#armExpiry();
    else this.refuse();
  }
}
