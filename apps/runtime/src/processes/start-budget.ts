interface StartBudgetOptions {
  readonly maxErrors: number;
  readonly periodMs: number;
}

/** `rest`: too many errors in the period, so the delay is the longest one. */
type StartDecision =
  | { readonly kind: 'start'; readonly delayMs: number }
  | { readonly kind: 'rest'; readonly errors: number; readonly delayMs: number };

const firstDelayMs = 100;
const longestDelayMs = 10_000;
/** Starts are delayed, never stopped: the cause may pass, and no other component starts workers. */
const restMs = 30_000;

/** Delays starts after failures: exponentially, and by a fixed rest once there were too many in the period. */
export class StartBudget {
  readonly #options: StartBudgetOptions;
  #errorsMs: number[] = [];

  constructor(options: StartBudgetOptions) {
    this.#options = options;
  }

  /** Records a failure and returns when the next worker may start. */
  recordError(nowMs: number): StartDecision {
    const { maxErrors, periodMs } = this.#options;
    this.#errorsMs = [...this.#errorsMs.filter((ms) => nowMs - ms < periodMs), nowMs];
    const errors = this.#errorsMs.length;
    if (errors > maxErrors) return { kind: 'rest', errors, delayMs: restMs };
    // The first loss is replaced at once: most are not caused by the app.
    return { kind: 'start', delayMs: errors === 1 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (errors - 2)) };
  }

  /** Forgets all failures: after a new deployment, or when a worker stayed up long enough. */
  reset(): void {
    this.#errorsMs = [];
  }
}
