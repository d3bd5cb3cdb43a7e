export interface OwnershipTimings {
  /** Lifetime of a replica's lease. A replica that has not renewed it for this long has failed. */
  readonly ttlMs: number;
  /** Interval between two polls of replicas and partitions when no notification arrives. */
  readonly pollEveryMs: number;
  /** How long the liveness lock of a replica must be seen free before the replica counts as failed. */
  readonly graceMs: number;
  /** Added to the grace after an outage of the database: a reconnect is tried every second at the latest and may take two. */
  readonly reconnectMs: number;
  /** Time limit for releasing a partition to another replica. */
  readonly handoverMs: number;
  /** Time that a listener has after the deadline of a release before its partition is taken from it. */
  readonly forceAfterMs: number;
  /** How long a replica that has left still answers that it is not the owner, for replicas that have not noticed yet. */
  readonly redirectMs: number;
  /** Time limit of the start for every partition to have an owner. */
  readonly startMs: number;
}

export const defaultOwnershipTimings: OwnershipTimings = {
  ttlMs: 10_000,
  pollEveryMs: 1_000,
  graceMs: 1_000,
  reconnectMs: 3_000,
  handoverMs: 10_000,
  forceAfterMs: 250,
  redirectMs: 1_500,
  startMs: 3_000,
};
