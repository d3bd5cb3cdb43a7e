/** Something with a time limit. */
export interface Limited {
  readonly settled: boolean;
  /** The present deadline; undefined while no time counts. */
  deadline: object | undefined;
}

interface Deadline<Item> {
  readonly item: Item;
  readonly dueMs: number;
}

/**
 * One time limit for many items. They expire in the order in which they were added, so one timer is enough. Deadlines of
 * settled and suspended items stay in the queue until they are half of it, and the timer is not stopped for them: removing
 * each one, or a timer for each, would cost more than the rest of a small request.
 */
export class TimeLimit<Item extends Limited> {
  readonly limitMs: number;
  readonly #expire: (item: Item) => void;
  #queue: Deadline<Item>[] = [];
  #obsolete = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, expire: (item: Item) => void) {
    this.limitMs = limitMs;
    this.#expire = expire;
  }

  add(item: Item, nowMs = performance.now()): void {
    const deadline = { item, dueMs: nowMs + this.limitMs };
    item.deadline = deadline;
    this.#queue.push(deadline);
    if (this.#timer === undefined) this.#wait(this.limitMs);
  }

  /** Lets no time count for this item until it is added again. */
  suspend(item: Item): void {
    item.deadline = undefined;
    this.recordSettled();
  }

  /** Counts a settled item, and removes obsolete deadlines once they are half of the queue. */
  recordSettled(): void {
    this.#obsolete += 1;
    if (this.#obsolete < 32 || this.#obsolete * 2 < this.#queue.length) return;
    this.#queue = this.#queue.filter(isPresent);
    this.#obsolete = 0;
  }

  /** Removes all items. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue = [];
    this.#obsolete = 0;
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#expireDue(), ms);
    // The worker keeps the process alive while a caller waits.
    this.#timer.unref();
  }

  #expireDue(): void {
    this.#timer = undefined;
    this.#queue = this.#queue.filter(isPresent);
    this.#obsolete = 0;
    const nowMs = performance.now();
    // Timers may fire a fraction of a millisecond early.
    const due = this.#queue.filter(({ dueMs }) => dueMs - nowMs < 1);
    this.#queue.splice(0, due.length);
    for (const deadline of due) if (isPresent(deadline)) this.#expire(deadline.item);
    const [next] = this.#queue;
    if (next && this.#timer === undefined) this.#wait(Math.max(0, next.dueMs - performance.now()));
  }
}

function isPresent<Item extends Limited>(deadline: Deadline<Item>): boolean {
  return deadline.item.deadline === deadline && !deadline.item.settled;
}
