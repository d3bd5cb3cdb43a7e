/** The period of the limit. */
const periodMs = 1_000;

/**
 * Limits the log lines of one kind of event to a number per second. Costs an event that is not logged one comparison, and reads no
 * clock: the period begins with its first line.
 */
export class LineLimit {
  readonly #perSecond: number;
  readonly #onOmitted: (lines: number) => void;
  #left: number;
  #omitted = 0;
  #isRunning = false;

  /** `onOmitted` is called at the end of a period in which lines were omitted, with their number. */
  constructor(perSecond: number, onOmitted: (lines: number) => void) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#onOmitted = onOmitted;
  }

  /** Whether a line may be written now. */
  take(): boolean {
    if (this.#left === 0) {
      this.#omitted += 1;
      return false;
    }
    this.#left -= 1;
    if (!this.#isRunning) this.#begin();
    return true;
  }

  #begin(): void {
    this.#isRunning = true;
    // Unreferenced: a line must not keep a process alive.
    setTimeout(() => {
      this.#isRunning = false;
      this.#left = this.#perSecond;
      const omitted = this.#omitted;
      this.#omitted = 0;
      if (omitted > 0) this.#onOmitted(omitted);
    }, periodMs).unref();
  }
}
