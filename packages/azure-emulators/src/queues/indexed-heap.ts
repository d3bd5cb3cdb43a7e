/**
 * A binary heap whose items know their place, so that any item is moved or removed in O(log n). `place` stores the index of an item;
 * the caller passes that index back.
 */
export class IndexedHeap<T> {
  #items: T[] = [];
  readonly #isBefore: (a: T, b: T) => boolean;
  readonly #place: (item: T, index: number) => void;

  constructor(isBefore: (a: T, b: T) => boolean, place: (item: T, index: number) => void) {
    this.#isBefore = isBefore;
    this.#place = place;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  /** Restores the order after the key of the item at this index has changed. */
  moved(item: T, index: number): void {
    this.#rise(item, index);
    if (this.#items[index] === item) this.#sink(item, index);
  }

  remove(index: number): void {
    const last = this.#items.pop();
    if (last === undefined || index === this.#items.length) return;
    this.#set(last, index);
    this.moved(last, index);
  }

  clear(): void {
    this.#items = [];
  }

  /** Calls `visit` with items in order until it returns false. The heap stays as it is. Visiting n items costs O(n log n). */
  visit(visit: (item: T) => boolean): void {
    const candidates = new IndexedHeap<number>(
      (a, b) => this.#isBefore(this.#items[a] as T, this.#items[b] as T), // indexes of existing items
      () => undefined,
    );
    if (this.#items.length > 0) candidates.add(0);
    for (let index = candidates.first; index !== undefined; index = candidates.first) {
      if (!visit(this.#items[index] as T)) return;
      candidates.remove(0);
      if (2 * index + 1 < this.#items.length) candidates.add(2 * index + 1);
      if (2 * index + 2 < this.#items.length) candidates.add(2 * index + 2);
    }
  }

  #set(item: T, index: number): void {
    this.#items[index] = item;
    this.#place(item, index);
  }

  #rise(item: T, from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.#items[above] as T; // above an existing item
      if (!this.#isBefore(item, parent)) break;
      this.#set(parent, index);
      index = above;
    }
    this.#set(item, index);
  }

  #sink(item: T, from: number): void {
    const { length } = this.#items;
    let index = from;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= length) break;
      const right = below + 1;
      if (right < length && this.#isBefore(this.#items[right] as T, this.#items[below] as T)) below = right;
      const child = this.#items[below] as T; // inside the array
      if (!this.#isBefore(child, item)) break;
      this.#set(child, index);
      index = below;
    }
    this.#set(item, index);
  }
}
