/** Binary heap: `peek` is the item that comes before all others. */
export class Heap<T> {
  readonly #comesBefore: (left: T, right: T) => boolean;
  #items: T[] = [];

  constructor(comesBefore: (left: T, right: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#rise(this.#items.length - 1);
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) {
      this.#items[0] = last;
      this.#sink(0);
    }
    return first;
  }

  /** Drops the items that do not pass. */
  retain(isLive: (item: T) => boolean): void {
    this.#items = this.#items.filter((item) => isLive(item));
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at -= 1) this.#sink(at);
  }

  #rise(start: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(start: number): void {
    let at = start;
    for (;;) {
      const left = at * 2 + 1;
      let least = at;
      if (left < this.#items.length && this.#isBefore(left, least)) least = left;
      if (left + 1 < this.#items.length && this.#isBefore(left + 1, least)) least = left + 1;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(left: number, right: number): boolean {
    return this.#comesBefore(this.#items[left] as T, this.#items[right] as T);
  }

  #swap(left: number, right: number): void {
    const item = this.#items[left] as T;
    this.#items[left] = this.#items[right] as T;
    this.#items[right] = item;
  }
}
