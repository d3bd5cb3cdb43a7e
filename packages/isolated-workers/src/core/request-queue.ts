/** A request that can wait in a `RequestQueue`. */
export interface Queueable<Item> {
  /** Higher ones leave the queue first. */
  readonly priority: number;
  /** Written by its queue only; undefined while the request is in none. */
  place: QueuePlace<Item> | undefined;
}

export interface QueuePlace<Item> {
  readonly item: Item;
  readonly level: QueueLevel<Item>;
  before: QueuePlace<Item> | undefined;
  after: QueuePlace<Item> | undefined;
}

/** The requests of one priority, as a linked list. */
interface QueueLevel<Item> {
  readonly queue: object;
  readonly priority: number;
  first: QueuePlace<Item> | undefined;
  last: QueuePlace<Item> | undefined;
}

/**
 * Waiting requests: the highest priority first, then first in, first out. All operations take constant time per request, also
 * removal from the middle, because one crash or abort may concern 100,000 of them. A request is in one queue at a time.
 */
export class RequestQueue<Item extends Queueable<Item>> {
  /** Levels that have requests, the highest priority first. */
  readonly #levels: QueueLevel<Item>[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: Item): void {
    const level = this.#levelOf(item.priority);
    const place = { item, level, before: level.last, after: undefined };
    if (level.last) level.last.after = place;
    else level.first = place;
    level.last = place;
    item.place = place;
    this.#length += 1;
  }

  /** Adds a request before all others of its priority. */
  putBack(item: Item): void {
    const level = this.#levelOf(item.priority);
    const place = { item, level, before: undefined, after: level.first };
    if (level.first) level.first.before = place;
    else level.last = place;
    level.first = place;
    item.place = place;
    this.#length += 1;
  }

  /** Removes and returns the next request. */
  shift(): Item | undefined {
    const item = this.#levels[0]?.first?.item;
    if (item) this.remove(item);
    return item;
  }

  /** Returns false when the request is not in this queue. */
  remove(item: Item): boolean {
    const { place } = item;
    if (!place || place.level.queue !== this) return false;
    const { level, before, after } = place;
    if (before) before.after = after;
    else level.first = after;
    if (after) after.before = before;
    else level.last = before;
    // A place that is in the old generation would keep all later ones in memory until the next major garbage collection.
    place.before = undefined;
    place.after = undefined;
    item.place = undefined;
    this.#length -= 1;
    if (!level.first) this.#levels.splice(this.#indexOf(level.priority), 1);
    return true;
  }

  /** Empties the queue and returns its requests. */
  takeAll(): Item[] {
    const all: Item[] = [];
    for (let item = this.shift(); item; item = this.shift()) all.push(item);
    return all;
  }

  #levelOf(priority: number): QueueLevel<Item> {
    const index = this.#indexOf(priority);
    const found = this.#levels[index];
    if (found?.priority === priority) return found;
    const level = { queue: this, priority, first: undefined, last: undefined };
    this.#levels.splice(index, 0, level);
    return level;
  }

  /** Returns the index of the level with this priority, or the one at which it belongs. */
  #indexOf(priority: number): number {
    let [from, to] = [0, this.#levels.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#levels[middle]?.priority ?? priority) > priority) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
