/** How workers are treated. */
export interface WorkerSettings {
  readonly maxConcurrentInvocations: number;
  readonly initTimeoutMs: number;
  readonly loadTimeoutMs: number;
  readonly reloadTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly heartbeatMisses: number;
  /** A worker whose stream stays full this long takes no more until it has caught up. */
  readonly backpressureMs: number;
  /** How long a worker may finish what it has before it is ended. */
  readonly drainTimeoutMs: number;
  /** What a worker is told that it has, between being told to end and being cut off. */
  readonly terminateGraceMs: number;
  readonly recycleOnTimeout: boolean;
  /** Where one timeout does not: after so many in a row. */
  readonly recycleOnConsecutiveTimeouts: number;
  /** How long one that was given up is remembered. */
  readonly abandonedMs: number;
}
