import type { Clock } from '@drover/service-kit';

interface Entry {
  readonly dueMs: number;
  /** Entries of equal time run in the order in which they were added. */
  readonly order: number;
  readonly action: () => void;
  isCancelled: boolean;
}

/** Cancelled entries are removed together once they are more than this and more than half. */
const worthSweeping = 1_024;

/**
 * Runs any number of actions at their times with a single timer of the monotonic clock. Actions that are due within one `tickMs` run
 * together.
 */
export class Timetable {
  readonly #clock: Clock;
  readonly #tickMs: number;
  /** A binary heap by time. */
  #heap: Entry[] = [];
  #order = 0;
  #cancelled = 0;
  #armedForMs = Infinity;
  #cancelTimer: () => void = () => undefined;

  constructor(clock: Clock, tickMs: number) {
    this.#clock = clock;
    this.#tickMs = tickMs;
  }

  get size(): number {
    return this.#heap.length - this.#cancelled;
  }

  /** Calls `action` after `delayMs`; the returned function cancels that. */
  after(delayMs: number, action: () => void): () => void {
    const dueMs = this.#clock.monotonicMs() + Math.max(0, delayMs);
    const entry: Entry = { dueMs, order: this.#order++, action, isCancelled: false };
    this.#push(entry);
    if (dueMs < this.#armedForMs) this.#arm();
    return () => {
      if (entry.isCancelled) return;
      entry.isCancelled = true;
      this.#cancelled += 1;
      if (this.#cancelled > worthSweeping && this.#cancelled * 2 > this.#heap.length) this.#sweep();
    };
  }

  stop(): void {
    this.#cancelTimer();
    this.#heap = [];
    this.#cancelled = 0;
    this.#armedForMs = Infinity;
  }

  #arm(): void {
    this.#cancelTimer();
    const [first] = this.#heap;
    this.#armedForMs = first?.dueMs ?? Infinity;
    if (!first) return;
    const waitMs = Math.max(0, first.dueMs - this.#clock.monotonicMs());
    this.#cancelTimer = this.#clock.after(Math.ceil(waitMs), () => this.#run());
  }

  #run(): void {
    // Actions that are due within the same tick run now, a little early, instead of with a timer of their own.
    const untilMs = this.#clock.monotonicMs() + this.#tickMs / 2;
    for (let first = this.#heap[0]; first && first.dueMs <= untilMs; first = this.#heap[0]) {
      this.#pop();
      if (first.isCancelled) this.#cancelled -= 1;
      else {
        first.isCancelled = true;
        this.#armedForMs = -Infinity; // no timer is armed for what the action may add
        first.action();
      }
    }
    this.#arm();
  }

  #sweep(): void {
    const remaining = this.#heap.filter((entry) => !entry.isCancelled);
    this.#heap = [];
    this.#cancelled = 0;
    for (const entry of remaining) this.#push(entry);
    this.#arm();
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (!parent || isBefore(parent, entry)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = at * 2 + 1;
      let child = heap[below];
      if (!child) break;
      const right = heap[below + 1];
      if (right && isBefore(right, child)) {
        child = right;
        below += 1;
      }
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
}
