/** The longest delay that setTimeout can do. */
const maxDelayMs = 0x7fff_ffff;

/** One timer for all deadlines of the broker: it is set again only for an earlier one, and asks for the next when it fires. */
export class DeadlineTimer {
  readonly #now: () => number;
  #onDue: () => number = () => Infinity;
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Infinity;
  #isStopped = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `onDue` does what is due and returns the time of the next deadline. */
  start(onDue: () => number): void {
    this.#onDue = onDue;
  }

  note(atMs: number): void {
    if (atMs >= this.#dueMs || this.#isStopped) return;
    this.#dueMs = atMs;
    clearTimeout(this.#timer);
    // One more millisecond: a timer can fire a fraction early, and would then find nothing to do.
    const delayMs = Math.min(Math.max(atMs - this.#now(), 0) + 1, maxDelayMs);
    this.#timer = setTimeout(() => this.#fire(), delayMs);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #fire(): void {
    this.#dueMs = Infinity;
    this.note(this.#onDue());
  }
}
