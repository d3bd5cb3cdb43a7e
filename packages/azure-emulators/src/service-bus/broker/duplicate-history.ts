import type { MemoryBudget } from './memory-budget.js';

const entryOverheadBytes = 64;

/** Message ids seen within a time window, oldest first. */
export class DuplicateHistory {
  readonly #seenAtMs = new Map<string, number>();
  readonly #budget: MemoryBudget;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** Tells whether the id was seen in the window that ends now. */
  has(messageId: string, nowMs: number, windowMs: number): boolean {
    this.#forgetBefore(nowMs - windowMs);
    return this.#seenAtMs.has(messageId);
  }

  add(messageId: string, nowMs: number): void {
    if (this.#seenAtMs.delete(messageId)) this.#budget.give(cost(messageId));
    this.#seenAtMs.set(messageId, nowMs);
    this.#budget.take(cost(messageId));
  }

  clear(): void {
    this.#forgetBefore(Infinity);
  }

  entries(): IterableIterator<[string, number]> {
    return this.#seenAtMs.entries();
  }

  #forgetBefore(timeMs: number): void {
    for (const [messageId, seenAtMs] of this.#seenAtMs) {
      if (seenAtMs > timeMs) return;
      this.#seenAtMs.delete(messageId);
      this.#budget.give(cost(messageId));
    }
  }
}

function cost(messageId: string): number {
  return entryOverheadBytes + messageId.length * 2;
}
