import type { Clock } from '@drover/service-kit';

/** An action that is due at a time. */
export interface Due {
  cancel(): void;
}

interface DueQueueOptions {
  /** The time that entries are due by: of the wall clock, or monotonic. */
  readonly now: () => number;
  readonly clock: Pick<Clock, 'after'>;
  /** The time is looked at this often at least: a wall clock may be set. */
  readonly longestWaitMs: number;
}

class Entry implements Due {
  readonly atMs: number;
  readonly run: () => void;
  readonly #queue: DueQueue;
  /** Place in the heap; -1 when it ran or was cancelled. */
  index = -1;

  constructor(atMs: number, run: () => void, queue: DueQueue) {
    this.atMs = atMs;
    this.run = run;
    this.#queue = queue;
  }

  cancel(): void {
    this.#queue.remove(this);
  }
}

/** Runs actions when they are due: a binary heap and one timer for any number of them. */
export class DueQueue {
  readonly #options: DueQueueOptions;
  readonly #heap: Entry[] = [];
  #timer: { readonly atMs: number; readonly cancel: () => void } | undefined;

  constructor(options: DueQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(atMs: number, run: () => void): Due {
    const entry = new Entry(atMs, run, this);
    entry.index = this.#heap.length;
    this.#heap.push(entry);
    this.#rise(entry);
    this.#arm();
    return entry;
  }

  /** Forgets an entry; one that ran already is no error. */
  remove(entry: Entry): void {
    const { index } = entry;
    if (index < 0) return;
    entry.index = -1;
    const last = this.#heap.pop();
    if (!last || last === entry) return;
    this.#place(last, index);
    this.#rise(last);
    this.#sink(last);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const entry of this.#heap) entry.index = -1;
    this.#heap.length = 0;
  }

  /** Keeps the timer no later than the first entry. An earlier timer finds nothing due and is set again. */
  #arm(): void {
    const [first] = this.#heap;
    if (!first) return;
    const now = this.#options.now();
    const atMs = Math.min(first.atMs, now + this.#options.longestWaitMs);
    if (this.#timer && this.#timer.atMs <= atMs) return;
    this.#timer?.cancel();
    const cancel = this.#options.clock.after(Math.max(0, atMs - now), () => {
      this.#timer = undefined;
      this.#runDue();
    });
    this.#timer = { atMs, cancel };
  }

  #runDue(): void {
    const now = this.#options.now();
    for (let [first] = this.#heap; first && first.atMs <= now; [first] = this.#heap) {
      this.remove(first);
      first.run();
    }
    this.#arm();
  }

  #rise(entry: Entry): void {
    while (entry.index > 0) {
      const parent = this.#heap[(entry.index - 1) >> 1];
      if (!parent || parent.atMs <= entry.atMs) return;
      this.#swap(entry, parent);
    }
  }

  #sink(entry: Entry): void {
    for (;;) {
      const left = this.#heap[2 * entry.index + 1];
      const right = this.#heap[2 * entry.index + 2];
      const earlier = right && left && right.atMs < left.atMs ? right : left;
      if (!earlier || earlier.atMs >= entry.atMs) return;
      this.#swap(entry, earlier);
    }
  }

  #swap(one: Entry, other: Entry): void {
    const { index } = one;
    this.#place(one, other.index);
    this.#place(other, index);
  }

  #place(entry: Entry, index: number): void {
    entry.index = index;
    this.#heap[index] = entry;
  }
}
