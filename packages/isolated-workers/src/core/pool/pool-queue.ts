/** Number of empty slots at the head from which the array is shortened. */
const compactFrom = 1_024;

/**
 * First in, first out; an item that is put back goes before all others. Removal from the middle leaves an empty slot, which
 * `shift` skips. (A `Set` visits all slots of deleted items before its first one.)
 */
export class PoolQueue<Item extends object> {
  #items: (Item | undefined)[] = [];
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: Item): void {
    this.#items.push(item);
    this.#length += 1;
  }

  putBack(item: Item): void {
    if (this.#head > 0) this.#items[--this.#head] = item;
    else this.#items.unshift(item);
    this.#length += 1;
  }

  shift(): Item | undefined {
    while (this.#head < this.#items.length) {
      const item = this.#items[this.#head];
      this.#items[this.#head++] = undefined;
      if (!item) continue;
      this.#length -= 1;
      this.#compact();
      return item;
    }
    return undefined;
  }

  /** Linear, but short: requests that leave early are mostly the oldest. */
  remove(item: Item): void {
    const index = this.#items.indexOf(item, this.#head);
    if (index < 0) return;
    this.#items[index] = undefined;
    this.#length -= 1;
  }

  /** Empties the queue and returns its items. */
  takeAll(): Item[] {
    const all = this.#items.filter((item) => item !== undefined);
    this.#items = [];
    this.#head = 0;
    this.#length = 0;
    return all;
  }

  #compact(): void {
    if (this.#head < compactFrom || this.#head < this.#items.length / 2) return;
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}
