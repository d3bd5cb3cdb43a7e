const firstDelayMs = 100;
/** A crash storm is not waited out: a cause that passes must not leave the application without workers for long. */
const longestDelayMs = 3_000;
/** Failures that lie further apart than this have nothing to do with each other. */
const periodMs = 60_000;

/** Delays starts after failures: not after the first, then exponentially up to a few seconds. */
export class StartBudget {
  #errorsMs: number[] = [];

  /** Records a failure. */
  recordError(nowMs: number): void {
    this.#errorsMs = [...this.#recent(nowMs), nowMs];
  }

  /** Failures of the last minute. */
  errors(nowMs: number): number {
    return this.#recent(nowMs).length;
  }

  /** Returns the delay of the next start. */
  delayMs(nowMs: number): number {
    const errors = this.errors(nowMs);
    // The first loss is replaced at once: most are not caused by the app.
    return errors < 2 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (errors - 2));
  }

  /** Forgets all failures: after a new deployment, or when a worker stayed up long enough. */
  reset(): void {
    this.#errorsMs = [];
  }

  #recent(nowMs: number): number[] {
    return this.#errorsMs.filter((ms) => nowMs - ms < periodMs);
  }
}
