/** A replica, as its row and its lock show it. */
export interface ReplicaStatus {
  readonly id: string;
  readonly url: string;
  readonly draining: boolean;
  /** Its row was not renewed in time, by the server's clock. */
  readonly expired: boolean;
  /** A connection of it holds its lock. */
  readonly present: boolean;
}

/**
 * Who is gone without having said so. A process that dies lets go of its lock within milliseconds, long before its row
 * expires; but one that lives may have lost just that connection, and makes another. So a lock that is free counts only
 * when it was free at two looks at least `graceMs` apart, and at all looks between.
 */
export class FailureDetector {
  readonly #graceMs: number;
  readonly #since = new Map<string, number>();
  #countFromMs = -Infinity;

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /** Who may be evicted after this look. One at our own address needs no grace: we could not listen there if it lived. */
  judge(seen: readonly ReplicaStatus[], nowMs: number, ownUrl: string): readonly string[] {
    const absent = new Set(seen.filter(({ present }) => !present).map(({ id }) => id));
    for (const id of this.#since.keys()) if (!absent.has(id)) this.#since.delete(id);
    for (const id of absent) if (!this.#since.has(id)) this.#since.set(id, Math.max(nowMs, this.#countFromMs));
    return seen
      .filter(({ id, url, expired, present }) => {
        const sinceMs = this.#since.get(id) ?? Infinity;
        return expired || (!present && url === ownUrl) || nowMs - sinceMs >= this.#graceMs;
      })
      .map(({ id }) => id);
  }

  /** When a further look would change the verdict; infinity when nobody is missed. */
  get ripeAtMs(): number {
    return Math.min(...this.#since.values()) + this.#graceMs;
  }

  /** The server itself was away, or the way to it: until `untilMs` everybody may be busy coming back. */
  forgiveUntil(untilMs: number): void {
    this.#since.clear();
    this.#countFromMs = untilMs;
  }
}
