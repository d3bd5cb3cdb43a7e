/** What a time limit can be set on: it says itself when there is nothing to limit any more. */
export interface Limited {
  readonly settled: boolean;
}

/**
 * One time limit for many: they run out in the order in which they began, so one timer does for all of them. Those that are
 * settled meanwhile stay in line until they are half of it, and the timer runs on for nobody: to take each out, or to set and
 * clear a timer for each, would cost more than the rest of a small request.
 */
export class TimeLimit<Item extends Limited> {
  readonly limitMs: number;
  readonly #expire: (item: Item) => void;
  #line: { readonly item: Item; readonly dueMs: number }[] = [];
  #settled = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, expire: (item: Item) => void) {
    this.limitMs = limitMs;
    this.#expire = expire;
  }

  add(item: Item): void {
    this.#line.push({ item, dueMs: performance.now() + this.limitMs });
    if (this.#timer === undefined) this.#wait(this.limitMs);
  }

  /** One of them is settled. */
  noteSettled(): void {
    this.#settled += 1;
    if (this.#settled < 32 || this.#settled * 2 < this.#line.length) return;
    this.#line = this.#line.filter(({ item }) => !item.settled);
    this.#settled = 0;
  }

  /** Forgets all. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#line = [];
    this.#settled = 0;
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), ms);
    // Whoever waits for an answer is kept alive by the worker.
    this.#timer.unref();
  }

  #look(): void {
    this.#timer = undefined;
    this.#line = this.#line.filter(({ item }) => !item.settled);
    this.#settled = 0;
    const nowMs = performance.now();
    // Timers may ring a fraction early.
    const due = this.#line.filter(({ dueMs }) => dueMs - nowMs < 1);
    this.#line.splice(0, due.length);
    for (const { item } of due) if (!item.settled) this.#expire(item);
    const [next] = this.#line;
    if (next && this.#timer === undefined) this.#wait(Math.max(0, next.dueMs - performance.now()));
  }
}
