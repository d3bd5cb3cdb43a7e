/** The last durations of something, for their 95th percentile. */
export class RecentDurations {
  readonly #values: number[] = [];
  readonly #assumedMs: number;

  /** `assumedMs` holds until the first one is known. */
  constructor(assumedMs: number) {
    this.#assumedMs = assumedMs;
  }

  add(durationMs: number): void {
    this.#values.push(durationMs);
    if (this.#values.length > 50) this.#values.shift();
  }

  p95(): number {
    const sorted = this.#values.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length * 0.95)] ?? this.#assumedMs;
  }
}
