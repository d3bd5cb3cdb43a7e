export interface BoundedMapOptions<V> {
  /** Upper bound of the total weight. Without `weigh` every entry weighs 1, so this is a number of entries; at least 2. */
  readonly maxWeight: number;
  /** Weight of one entry, its bytes for example. Must return the same number for as long as the entry is in the map. */
  readonly weigh?: (value: V) => number;
  /**
   * What `set` does with an entry that does not fit:
   * - `evict-unused`: removes entries that were not read for longest, half of the map at a time;
   * - `reject`: leaves the map unchanged and returns false.
   */
  readonly whenFull: 'evict-unused' | 'reject';
}

const one = (): number => 1;

/**
 * A map whose total weight is bounded, for caches that requests can fill.
 *
 * With `evict-unused` it holds two generations of at most half the weight each. Reading an entry of the previous generation
 * moves it to the current one. When the current one is full it becomes the previous one, and what was in there is evicted: it
 * has not been read for a whole generation. Compared with a strict LRU order, reading an entry in use is a single look-up.
 */
export class BoundedMap<K, V extends NonNullable<unknown>> {
  readonly #weigh: (value: V) => number;
  readonly #generationWeight: number;
  readonly #evicts: boolean;
  #current = new Map<K, V>();
  #currentWeight = 0;
  #previous = new Map<K, V>();

  constructor({ maxWeight, weigh = one, whenFull }: BoundedMapOptions<V>) {
    if (!(maxWeight >= 2)) throw new RangeError(`maxWeight of a BoundedMap must be 2 or more, not ${maxWeight}`);
    this.#weigh = weigh;
    this.#evicts = whenFull === 'evict-unused';
    this.#generationWeight = this.#evicts ? maxWeight / 2 : maxWeight;
  }

  get size(): number {
    return this.#current.size + this.#previous.size;
  }

  get(key: K): V | undefined {
    const value = this.#current.get(key);
    if (value !== undefined || this.#previous.size === 0) return value;
    const older = this.#previous.get(key);
    if (older === undefined) return undefined;
    this.#previous.delete(key);
    this.#add(key, older);
    return older;
  }

  /** Adds or replaces an entry. Returns false if it was not stored: the map is full, or it outweighs half of the map. */
  set(key: K, value: V): boolean {
    this.delete(key);
    return this.#add(key, value);
  }

  delete(key: K): boolean {
    const value = this.#current.get(key);
    if (value === undefined) return this.#previous.delete(key);
    this.#currentWeight -= this.#weigh(value);
    return this.#current.delete(key);
  }

  clear(): void {
    this.#current.clear();
    this.#currentWeight = 0;
    this.#previous.clear();
  }

  keys(): K[] {
    return [...this.#previous.keys(), ...this.#current.keys()];
  }

  #add(key: K, value: V): boolean {
    const weight = this.#weigh(value);
    if (weight > this.#generationWeight) return false;
    if (this.#currentWeight + weight > this.#generationWeight) {
      if (!this.#evicts) return false;
      this.#previous = this.#current;
      this.#current = new Map();
      this.#currentWeight = 0;
    }
    this.#current.set(key, value);
    this.#currentWeight += weight;
    return true;
  }
}
