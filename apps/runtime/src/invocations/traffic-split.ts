/**
 * Which code version the next invocation goes to, so that each gets its share of any stretch of them and not only in the
 * long run: every version gains its weight each time, the one with the most goes and pays for all.
 */
export class TrafficSplit {
  #weights: ReadonlyMap<string, number>;
  readonly #owed = new Map<string, number>();

  constructor(weights: ReadonlyMap<string, number> = new Map()) {
    this.#weights = weights;
  }

  get weights(): ReadonlyMap<string, number> {
    return this.#weights;
  }

  set(weights: ReadonlyMap<string, number>): void {
    this.#weights = weights;
    this.#owed.clear();
  }

  /** The versions with a share among those `available`, the one whose turn it is first; the turn is not taken yet. */
  order(available: Iterable<string>): string[] {
    const due = (version: string): number => (this.#owed.get(version) ?? 0) + this.#weightOf(version);
    return [...available]
      .filter((version) => this.#weightOf(version) > 0)
      .toSorted((one, other) => due(other) - due(one) || (one < other ? -1 : 1));
  }

  /** One went to `chosen`, when these could have been chosen. */
  take(chosen: string, available: readonly string[]): void {
    let total = 0;
    for (const version of available) {
      const weight = this.#weightOf(version);
      total += weight;
      this.#owed.set(version, (this.#owed.get(version) ?? 0) + weight);
    }
    this.#owed.set(chosen, (this.#owed.get(chosen) ?? 0) - total);
  }

  /** Without any weights, every version has the same. */
  #weightOf(version: string): number {
    return this.#weights.size === 0 ? 1 : (this.#weights.get(version) ?? 0);
  }
}
