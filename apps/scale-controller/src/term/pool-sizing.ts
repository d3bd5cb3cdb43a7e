import type { PoolPolicy, PoolState } from '../decisions/fleet-types.js';
import { sizePool } from '../decisions/pool-size.js';
import { RecentDurations } from './durations.js';

/** Counts the use of placeholders and sizes their pool by it. */
export class PoolSizing {
  readonly #policy: PoolPolicy;
  readonly #replenishMs = new RecentDurations(1_000);
  #state: PoolState | undefined;
  #taken = 0;
  #missed = 0;
  /** When placeholders were taken within the last replenish time. */
  #takenAtMs: number[] = [];
  #peak = 0;

  constructor(policy: PoolPolicy) {
    this.#policy = policy;
  }

  taken(nowMs: number): void {
    this.#taken += 1;
    this.#use(nowMs);
  }

  missed(nowMs: number): void {
    this.#missed += 1;
    this.#use(nowMs);
  }

  /** A placeholder was idle this long after its start. */
  replenished(durationMs: number): void {
    this.#replenishMs.add(durationMs);
  }

  /** Returns how many placeholders there should be. */
  size(nowMs: number, headroom: number): number {
    const { state, target } = sizePool(
      this.#state,
      {
        nowMs,
        taken: this.#taken,
        missed: this.#missed,
        peakTaken: this.#peak,
        replenishMs: this.#replenishMs.p95(),
        headroom,
      },
      this.#policy,
    );
    this.#state = state;
    this.#taken = 0;
    this.#missed = 0;
    this.#peak = 0;
    return target;
  }

  #use(nowMs: number): void {
    const since = nowMs - this.#replenishMs.p95();
    this.#takenAtMs = [...this.#takenAtMs.filter((ms) => ms > since), nowMs];
    this.#peak = Math.max(this.#peak, this.#takenAtMs.length);
  }
}
