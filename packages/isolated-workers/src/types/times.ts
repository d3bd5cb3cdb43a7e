/** Durations of requests since the start, or since `reset`. Percentiles are at most 3 % above the real values. */
export interface DurationHistogram {
  readonly count: number;
  /** 0 while nothing was recorded, like all others. */
  readonly minMs: number;
  readonly meanMs: number;
  readonly maxMs: number;
  /** Returns the duration that this share of all requests did not exceed: `percentile(99)`. */
  percentile(percent: number): number;
  reset(): void;
  /** The usual figures as plain data, for logs. */
  toJSON(): Readonly<Record<'count' | 'minMs' | 'meanMs' | 'p50Ms' | 'p90Ms' | 'p99Ms' | 'maxMs', number>>;
}

/** What requests spent their time on. */
export interface RequestTimes {
  /**
   * From `send`, or from the crash before a retry, until the request was handed to a worker. Requests that ended while they
   * waited count too.
   */
  readonly wait: DurationHistogram;
  /** From then until the request was settled: by an answer, a time limit or its caller. Crashes do not count. */
  readonly run: DurationHistogram;
}
