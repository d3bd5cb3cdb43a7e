/** A queue in a ring buffer that grows: `push` and `shift` take constant time. */
export class Deque<T> {
  #items = emptyRing<T>();
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#items.length) this.#grow();
    this.#items[(this.#head + this.#size) & (this.#items.length - 1)] = item;
    this.#size += 1;
  }

  unshift(item: T): void {
    if (this.#size === this.#items.length) this.#grow();
    this.#head = (this.#head - 1) & (this.#items.length - 1);
    this.#items[this.#head] = item;
    this.#size += 1;
  }

  peek(): T | undefined {
    return this.#size === 0 ? undefined : this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#items.length - 1);
    this.#size -= 1;
    // Frees the memory that a peak has allocated.
    if (this.#size === 0 && this.#items.length > 1_024) {
      this.#items = emptyRing<T>();
      this.#head = 0;
    }
    return item;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let index = 0; index < this.#size; index += 1) {
      const item = this.#items[(this.#head + index) & (this.#items.length - 1)];
      if (item !== undefined) yield item;
    }
  }

  #grow(): void {
    const items = [...this];
    items.length = this.#items.length * 2;
    this.#items = items;
    this.#head = 0;
  }
}

/** The size is a power of two, so that a mask replaces the division. */
function emptyRing<T>(): (T | undefined)[] {
  return Array.from({ length: 8 });
}
