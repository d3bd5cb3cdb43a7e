/** Formats times of neighbours, which are often the same: formatting one is slow. */
export class IsoTimes {
  #lastMs = Number.NaN;
  #last = '';

  of(atMs: number): string {
    if (atMs !== this.#lastMs) {
      this.#last = new Date(atMs).toISOString();
      this.#lastMs = atMs;
    }
    return this.#last;
  }
}
