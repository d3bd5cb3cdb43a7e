/**
 * One time limit for many: they run out in the order in which they began, so one timer does for all of them. It is left
 * running when the last one is done with, since a timer that is set and cleared for each costs more than the rest of a
 * small request; it finds nothing then, and ends.
 */
export class TimeLimit<Item> {
  readonly limitMs: number;
  readonly #expire: (item: Item) => void;
  readonly #dueMs = new Map<Item, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, expire: (item: Item) => void) {
    this.limitMs = limitMs;
    this.#expire = expire;
  }

  add(item: Item): void {
    this.#dueMs.set(item, performance.now() + this.limitMs);
    if (this.#timer === undefined) this.#wait(this.limitMs);
  }

  delete(item: Item): void {
    this.#dueMs.delete(item);
  }

  /** Forgets all. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#dueMs.clear();
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), ms);
    // Whoever waits for an answer is kept alive by the worker.
    this.#timer.unref();
  }

  #look(): void {
    for (const [item, dueMs] of this.#dueMs) {
      const leftMs = dueMs - performance.now();
      // Timers may ring a fraction early.
      if (leftMs >= 1) return this.#wait(leftMs);
      this.#dueMs.delete(item);
      this.#expire(item);
    }
    this.#timer = undefined;
  }
}
