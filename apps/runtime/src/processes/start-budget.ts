/** How often workers of an application may fail before they are given a rest. */
interface StartBudgetOptions {
  readonly maxErrors: number;
  readonly periodMs: number;
}

/** What to do about one more failure. */
type StartDecision =
  | { readonly kind: 'start'; readonly delayMs: number }
  | { readonly kind: 'rest'; readonly errors: number; readonly delayMs: number };

const firstDelayMs = 100;
const longestDelayMs = 10_000;
/** Never for good: what they die of may be over, and nobody else would start them. */
const restMs = 30_000;

/** Puts off the next start after each failure, longer each time, and longest when there were too many in a while. */
export class StartBudget {
  readonly #options: StartBudgetOptions;
  #errorsMs: number[] = [];

  constructor(options: StartBudgetOptions) {
    this.#options = options;
  }

  /** A worker failed now; when may the next one be started? */
  noteError(nowMs: number): StartDecision {
    const { maxErrors, periodMs } = this.#options;
    this.#errorsMs = [...this.#errorsMs.filter((ms) => nowMs - ms < periodMs), nowMs];
    const errors = this.#errorsMs.length;
    if (errors > maxErrors) return { kind: 'rest', errors, delayMs: restMs };
    // The first loss is replaced at once: most have nothing to do with the app.
    return { kind: 'start', delayMs: errors === 1 ? 0 : Math.min(longestDelayMs, firstDelayMs * 2 ** (errors - 2)) };
  }

  /** Somebody changed something, or a worker lived well for a while: all is forgotten. */
  reset(): void {
    this.#errorsMs = [];
  }
}
