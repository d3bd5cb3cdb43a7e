const firstDelayMs = 100;
/** A cause that passes must not leave an application without workers for long. */
const longestDelayMs = 5_000;
/** Failures that lie further apart than this have nothing to do with each other. */
const periodMs = 60_000;

/** Delays the starts of a version whose workers fail: not after the first failure, then exponentially up to a few seconds. */
export class StartDelays {
  readonly #failuresMs = new Map<string, number[]>();

  record(versionKey: string, nowMs: number): void {
    this.#failuresMs.set(versionKey, [...this.#recent(versionKey, nowMs), nowMs].slice(-20));
  }

  /** Returns when the next worker of the version may start; a time that has passed means now. */
  nextStartMs(versionKey: string, nowMs: number): number {
    const recent = this.#recent(versionKey, nowMs);
    const last = recent.at(-1);
    if (last === undefined || recent.length < 2) return 0;
    return last + Math.min(longestDelayMs, firstDelayMs * 2 ** (recent.length - 2));
  }

  #recent(versionKey: string, nowMs: number): number[] {
    return (this.#failuresMs.get(versionKey) ?? []).filter((ms) => nowMs - ms < periodMs);
  }
}
