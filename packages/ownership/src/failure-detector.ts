/** A replica, as its row and its liveness lock show it. */
export interface ReplicaStatus {
  readonly id: string;
  readonly url: string;
  readonly draining: boolean;
  /** Its lease has expired, by the clock of the database server. */
  readonly expired: boolean;
  /** A connection of the replica holds its liveness lock. */
  readonly present: boolean;
}

/**
 * Decides which replicas have failed. The server frees the lock of a process that dies within milliseconds, long before the lease
 * expires; but a replica that lives may have lost only that connection and be opening another. So a free lock counts only when two
 * polls at least `graceMs` apart, and all polls between them, have seen it free.
 */
export class FailureDetector {
  readonly #graceMs: number;
  readonly #absentSinceMs = new Map<string, number>();
  #countFromMs = -Infinity;

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /**
   * Returns the replicas that may be evicted after this poll. An absent replica with our own URL needs no grace: this process could
   * not listen there if the other one lived.
   */
  failedIn(replicas: readonly ReplicaStatus[], nowMs: number, ownUrl: string): readonly string[] {
    const absent = new Set(replicas.filter(({ present }) => !present).map(({ id }) => id));
    for (const id of this.#absentSinceMs.keys()) if (!absent.has(id)) this.#absentSinceMs.delete(id);
    for (const id of absent)
      if (!this.#absentSinceMs.has(id)) this.#absentSinceMs.set(id, Math.max(nowMs, this.#countFromMs));
    return replicas
      .filter(({ id, url, expired, present }) => {
        const sinceMs = this.#absentSinceMs.get(id) ?? Infinity;
        return expired || (!present && url === ownUrl) || nowMs - sinceMs >= this.#graceMs;
      })
      .map(({ id }) => id);
  }

  /** When the next poll can find a failure; infinity when every replica is present. */
  get nextCheckAtMs(): number {
    return Math.min(...this.#absentSinceMs.values()) + this.#graceMs;
  }

  /** Ignores absences until `untilMs`: the database, or the connection to it, was away, and every replica may be reconnecting. */
  ignoreUntil(untilMs: number): void {
    this.#absentSinceMs.clear();
    this.#countFromMs = untilMs;
  }
}
