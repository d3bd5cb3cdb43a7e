/**
 * A map that keeps what is in use, as long as the weights stay below `most`. Two halves: what is asked for moves to the
 * young one, and when that is full the old one goes, with everything nobody has asked for since. Cheaper on a hot path
 * than a strict order of use: an entry in use costs one look-up.
 */
export class RecentMap<K, V> {
  readonly #half: number;
  #young = new Map<K, Entry<V>>();
  #youngWeight = 0;
  #old = new Map<K, Entry<V>>();

  constructor(most: number) {
    this.#half = most / 2;
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young.value;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.set(key, old.value, old.weight);
    return old.value;
  }

  /** What alone weighs more than half of what fits is not kept. */
  set(key: K, value: V, weight: number): void {
    this.delete(key);
    if (weight > this.#half) return;
    if (this.#youngWeight + weight > this.#half) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngWeight = 0;
    }
    this.#young.set(key, { value, weight });
    this.#youngWeight += weight;
  }

  delete(key: K): void {
    this.#youngWeight -= this.#young.get(key)?.weight ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#youngWeight = 0;
    this.#old.clear();
  }

  keys(): K[] {
    return [...this.#old.keys(), ...this.#young.keys()];
  }
}

interface Entry<V> {
  readonly value: V;
  readonly weight: number;
}
