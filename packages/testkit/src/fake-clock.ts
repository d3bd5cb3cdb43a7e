/** A clock that moves only when told. Timers fire in order of their time, then of their making. */
export class FakeClock {
  #elapsedMs = 0;
  #sequence = 0;
  #timers: { readonly dueMs: number; readonly sequence: number; readonly action: () => void }[] = [];
  readonly #startedAt: number;

  constructor(startedAt = Date.UTC(2030, 0, 1)) {
    this.#startedAt = startedAt;
  }

  now(): number {
    return this.#startedAt + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  after(delayMs: number, action: () => void): () => void {
    const timer = { dueMs: this.#elapsedMs + Math.max(0, delayMs), sequence: this.#sequence++, action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves on by `ms`, firing what falls due; promises settle between two timers. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsedMs + ms;
    await settle();
    for (let due = this.#next(until); due; due = this.#next(until)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, due.dueMs);
      due.action();
      await settle();
    }
    this.#elapsedMs = until;
  }

  /** Moves on by `ms` as the clock of a process that was paused does: what fell due in the meantime fires late, with the next `advance`. */
  pause(ms: number): void {
    this.#elapsedMs += ms;
  }

  #next(until: number): { readonly dueMs: number; readonly action: () => void } | undefined {
    const [first] = this.#timers
      .filter((timer) => timer.dueMs <= until)
      .toSorted((a, b) => a.dueMs - b.dueMs || a.sequence - b.sequence);
    this.#timers = this.#timers.filter((timer) => timer !== first);
    return first;
  }
}

/** Lets everything run that waits for nothing but promises. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
