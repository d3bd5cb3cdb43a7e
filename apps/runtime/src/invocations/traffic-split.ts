/**
 * Smooth weighted round robin over code versions: each call adds every version's weight to its credit, goes to the version
 * with the highest credit, and subtracts the total from it. So each version gets its share of any short run of calls too.
 */
export class TrafficSplit {
  #weights: ReadonlyMap<string, number> = new Map();
  readonly #credit = new Map<string, number>();

  get weights(): ReadonlyMap<string, number> {
    return this.#weights;
  }

  set(weights: ReadonlyMap<string, number>): void {
    this.#weights = weights;
    this.#credit.clear();
  }

  /** Returns the versions of `available` that have a share, by descending credit. Call `record` with the one that is used. */
  order(available: Iterable<string>): string[] {
    const due = (version: string): number => (this.#credit.get(version) ?? 0) + this.#weightOf(version);
    return [...available]
      .filter((version) => this.#weightOf(version) > 0)
      .toSorted((one, other) => due(other) - due(one) || (one < other ? -1 : 1));
  }

  /** Records that a call went to `chosen` out of `available`. */
  record(chosen: string, available: readonly string[]): void {
    let total = 0;
    for (const version of available) {
      const weight = this.#weightOf(version);
      total += weight;
      this.#credit.set(version, (this.#credit.get(version) ?? 0) + weight);
    }
    this.#credit.set(chosen, (this.#credit.get(chosen) ?? 0) - total);
  }

  #weightOf(version: string): number {
    return this.#weights.size === 0 ? 1 : (this.#weights.get(version) ?? 0);
  }
}
