import { seededRandomness } from '@drover/testkit';

/** An invariant does not hold. */
export class SimViolation extends Error {}

interface Scheduled {
  readonly atMs: number;
  readonly sequence: number;
  readonly run: () => void;
}

/** Events at the end of the log that a failure prints. */
const shownEvents = 50;

/** Resolves when no promise can go on without another event: Node runs next ticks when no microtask is left. */
const allResumed = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** Time, chance and the log of one simulation. Everything happens in the order of time, then of scheduling: a seed replays. */
export class SimClock {
  nowMs = 0;
  readonly #randomness: ReturnType<typeof seededRandomness>;
  readonly #heap: Scheduled[] = [];
  #sequence = 0;
  #ids = 0;
  #hash = 0x811c9dc5;
  readonly #last: string[] = [];

  constructor(seed: number) {
    this.#randomness = seededRandomness(seed);
  }

  /** From [0, 1). */
  fraction(): number {
    return this.#randomness.fraction();
  }

  between(least: number, most: number): number {
    return least + (most - least) * this.fraction();
  }

  integer(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(values: readonly T[]): T | undefined {
    return values[this.integer(0, values.length - 1)];
  }

  id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}-${this.#ids}`;
  }

  /** Mostly short, rarely long: the latency of a call or a message. */
  latency(): number {
    return this.chance(0.02) ? this.between(50, 2_000) : this.between(0.2, 20);
  }

  after(delayMs: number, run: () => void): void {
    this.#sequence += 1;
    const entry = { atMs: this.nowMs + Math.max(0, delayMs), sequence: this.#sequence, run };
    this.#heap.push(entry);
    this.#up(this.#heap.length - 1);
  }

  every(periodMs: number, run: () => void): void {
    this.after(periodMs, () => {
      run();
      this.every(periodMs, run);
    });
  }

  runUntil(endMs: number): void {
    for (let next = this.#heap[0]; next && next.atMs <= endMs; next = this.#heap[0]) {
      this.#pop();
      this.nowMs = next.atMs;
      next.run();
    }
    this.nowMs = endMs;
  }

  /** As `runUntil`, for code with promises: everything that an event resumes runs before the next event. Stops when `isOver`. */
  async runAllUntil(endMs: number, isOver: () => boolean): Promise<void> {
    for (let next = this.#heap[0]; next && next.atMs <= endMs && !isOver(); next = this.#heap[0]) {
      this.#pop();
      this.nowMs = next.atMs;
      next.run();
      await allResumed();
    }
    this.nowMs = endMs;
  }

  log(text: string): void {
    const line = `${this.nowMs.toFixed(0)} ${text}`;
    for (let index = 0; index < line.length; index += 1)
      this.#hash = Math.imul(this.#hash ^ line.charCodeAt(index), 0x01000193) >>> 0;
    this.#last.push(line);
    if (this.#last.length > shownEvents) this.#last.shift();
  }

  /** Identifies the course of events. */
  get hash(): string {
    return this.#hash.toString(16).padStart(8, '0');
  }

  get lastEvents(): readonly string[] {
    return this.#last;
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (!last || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down(0);
  }

  #up(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfEarlier(index, parent)) return;
      index = parent;
    }
  }

  #down(start: number): void {
    let index = start;
    for (;;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const earliest = this.#isEarlier(right, left) ? right : left;
      if (!this.#swapIfEarlier(earliest, index)) return;
      index = earliest;
    }
  }

  #isEarlier(a: number, b: number): boolean {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (!first || !second) return first !== undefined;
    return first.atMs < second.atMs || (first.atMs === second.atMs && first.sequence < second.sequence);
  }

  #swapIfEarlier(a: number, b: number): boolean {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (!first || !second || !this.#isEarlier(a, b)) return false;
    this.#heap[a] = second;
    this.#heap[b] = first;
    return true;
  }
}
