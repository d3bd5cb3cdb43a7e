/** How long everything about ownership takes. */
export interface OwnershipTimings {
  /** A replica that did not renew for so long is gone. */
  readonly ttlMs: number;
  /** Between two looks at replicas and ownership when nothing wakes us. */
  readonly pollEveryMs: number;
  /** How long the lock of a replica must be seen free until the replica counts as gone. */
  readonly graceMs: number;
  /** How much longer after the server was away: a connection is tried again after a second at the latest, and may take two. */
  readonly reconnectMs: number;
  /** What one handover to another replica may take. */
  readonly handoverMs: number;
  /** What a listener may take after the deadline of a handover, until its partition is taken from it. */
  readonly forceAfterMs: number;
  /** How long one that has left still tells the others, who may not have seen it yet, that it is not the home. */
  readonly redirectMs: number;
  /** What the start waits until every partition has a home. */
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
