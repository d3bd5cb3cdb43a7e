/** Something with a time limit. */
export interface Limited {
  readonly settled: boolean;
}

/**
 * One time limit for many items. They expire in the order in which they were added, so one timer is enough. Settled items stay
 * in the queue until they are half of it, and the timer is not stopped for them: removing each one, or a timer for each,
 * would cost more than the rest of a small request.
 */
export class TimeLimit<Item extends Limited> {
  readonly limitMs: number;
  readonly #expire: (item: Item) => void;
  #queue: { readonly item: Item; readonly dueMs: number }[] = [];
  #settled = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, expire: (item: Item) => void) {
    this.limitMs = limitMs;
    this.#expire = expire;
  }

  add(item: Item): void {
    this.#queue.push({ item, dueMs: performance.now() + this.limitMs });
    if (this.#timer === undefined) this.#wait(this.limitMs);
  }

  /** Counts a settled item, and removes settled items once they are half of the queue. */
  recordSettled(): void {
    this.#settled += 1;
    if (this.#settled < 32 || this.#settled * 2 < this.#queue.length) return;
    this.#queue = this.#queue.filter(({ item }) => !item.settled);
    this.#settled = 0;
  }

  /** Removes all items. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue = [];
    this.#settled = 0;
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#expireDue(), ms);
    // The worker keeps the process alive while a caller waits.
    this.#timer.unref();
  }

  #expireDue(): void {
    this.#timer = undefined;
    this.#queue = this.#queue.filter(({ item }) => !item.settled);
    this.#settled = 0;
    const nowMs = performance.now();
    // Timers may fire a fraction of a millisecond early.
    const due = this.#queue.filter(({ dueMs }) => dueMs - nowMs < 1);
    this.#queue.splice(0, due.length);
    for (const { item } of due) if (!item.settled) this.#expire(item);
    const [next] = this.#queue;
    if (next && this.#timer === undefined) this.#wait(Math.max(0, next.dueMs - performance.now()));
  }
}
