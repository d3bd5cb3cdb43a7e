/** One measurement of a source. */
interface Measurement {
  /** Monotonic time. */
  readonly atMs: number;
  /** Messages that no consumer has. */
  readonly waiting: number;
  /** Messages that this listener has received since its creation, without those that it returned. */
  readonly taken: number;
}

/**
 * Estimates arrivals between measurements: messages that wait now and did not before, and messages that were received in
 * between. Messages that other consumers received are missing, so with several runtimes it is a lower bound.
 */
export class ArrivalRate {
  #last: Measurement | undefined;

  /** Returns arrivals per second since the measurement before; undefined at the first. */
  next(measured: Measurement): number | undefined {
    const last = this.#last;
    this.#last = measured;
    const elapsedMs = last ? measured.atMs - last.atMs : 0;
    if (!last || elapsedMs <= 0) return undefined;
    const arrived = measured.waiting - last.waiting + (measured.taken - last.taken);
    return (Math.max(0, arrived) * 1_000) / elapsedMs;
  }

  /** Forgets the measurement before: the next one cannot be compared with it. */
  reset(): void {
    this.#last = undefined;
  }
}
