/** Limits and timeouts of function workers. */
export interface WorkerSettings {
  readonly maxConcurrentInvocations: number;
  readonly initTimeoutMs: number;
  readonly loadTimeoutMs: number;
  readonly reloadTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly heartbeatMisses: number;
  /** A worker whose stream is full for this long becomes unhealthy. */
  readonly backpressureMs: number;
  /** Time limit for the drain of a worker. */
  readonly drainTimeoutMs: number;
  /** Time between WorkerTerminate and the end of the stream and the process. */
  readonly terminateGraceMs: number;
  /** Time between the loss of a stream and the end of the process: a crashing worker prints its reason meanwhile. */
  readonly lostGraceMs: number;
  readonly recycleOnTimeout: boolean;
  /** Without `recycleOnTimeout`: recycle after this many consecutive timeouts. */
  readonly recycleOnConsecutiveTimeouts: number;
  /** How long an abandoned worker stays registered. */
  readonly abandonedMs: number;
}
