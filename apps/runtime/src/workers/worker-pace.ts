/** Work that a worker may be handed ahead: the calls that it begins within this time. */
const aheadMs = 20;
/** The pace is measured this often while calls are sent, also if the worker was quick before. */
const probeEveryMs = 250;
/** A worker that begins calls faster may be handed all it has slots for: shorter times are those of the connection. */
const computingMs = 5;
const serviceWeight = 0.3;

interface Probe {
  /** The last call before it. */
  readonly upTo: number;
  /** Calls before it that had not begun. */
  readonly calls: number;
  readonly sentMs: number;
}

/**
 * Learns how fast a worker begins calls, and how many it may be handed. A worker that computes begins the next call when the one
 * before is done; what it was handed meanwhile is bound to it, although another worker may be free.
 *
 * A worker reads its stream in order. So the calls before one that was answered have begun, and those before a status request that
 * was answered: a probe. A probe tells the time to begin a call. An answer includes the run of the call and is an upper bound of it.
 * Calls are numbered from 1 in the order in which they are sent.
 */
export class WorkerPace {
  #sent = 0;
  #begun = 0;
  /** Calls that have begun and not ended. */
  #running = 0;
  /** Calls that ended without an answer before they had begun, as far as that is known. */
  readonly #unanswered = new Set<number>();
  /** Time to begin one call; undefined until it is known. */
  #beginMs: number | undefined;
  #lastProbeMs: number | undefined;
  #serviceMs: number | undefined;
  #probe: Probe | undefined;
  #probedMs = Number.NEGATIVE_INFINITY;

  /** Whether a worker with this many reserved slots may be handed another call. */
  mayTake(reserved: number): boolean {
    return reserved - this.#running < this.#window;
  }

  /** Returns the number of the call. */
  sent(): number {
    return ++this.#sent;
  }

  /** Whether a probe is to be sent after the call that was sent just now. The caller sends it and calls `probed` or `probeFailed`. */
  startProbe(nowMs: number): boolean {
    const calls = this.#sent - this.#begun;
    if (this.#probe || calls === 0) return false;
    if (calls * 2 < this.#window && nowMs - this.#probedMs < probeEveryMs) return false;
    this.#probe = { upTo: this.#sent, calls, sentMs: nowMs };
    this.#probedMs = nowMs;
    return true;
  }

  probed(nowMs: number): void {
    if (!this.#probe) return;
    const { upTo, calls, sentMs } = this.#probe;
    this.#probe = undefined;
    this.#learn((nowMs - sentMs) / calls);
    this.#advance(upTo);
  }

  probeFailed(): void {
    this.#probe = undefined;
  }

  answered(call: number, serviceMs: number): void {
    const begun = call - this.#begun;
    if (begun > 0 && this.#beginMs !== undefined) this.#beginMs = Math.min(this.#beginMs, serviceMs / begun);
    this.#serviceMs =
      this.#serviceMs === undefined ? serviceMs : this.#serviceMs + serviceWeight * (serviceMs - this.#serviceMs);
    this.#advance(call);
    this.#running -= 1;
  }

  /** The call ended without an answer. */
  gaveUp(call: number): void {
    if (call <= this.#begun) this.#running -= 1;
    else this.#unanswered.add(call);
  }

  /** Returns the concurrent calls that the worker runs at its pace, from 1 to `limit`. */
  concurrency(limit: number, nowMs: number): number {
    const beginMs = this.#presentBeginMs(nowMs);
    if (beginMs < computingMs) return limit;
    return Math.max(1, Math.min(limit, Math.max(this.#serviceMs ?? 0, beginMs) / beginMs));
  }

  /** Whether calls keep its event loop from turning, so that a further one would have to wait. */
  isComputing(nowMs: number): boolean {
    return this.#presentBeginMs(nowMs) >= computingMs;
  }

  /** A probe that waits for its answer says that the worker is at least as slow. */
  #presentBeginMs(nowMs: number): number {
    const waitedMs = this.#probe ? (nowMs - this.#probe.sentMs) / this.#probe.calls : 0;
    return Math.max(this.#beginMs ?? 0, waitedMs);
  }

  get #window(): number {
    if (this.#beginMs === undefined) return 1;
    return this.#beginMs < computingMs ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(aheadMs / this.#beginMs));
  }

  /**
   * Faster step by step, because with few calls a probe mostly measures the connection. Slower if two probes in a row say so, also at
   * first: the first call of a worker loads and compiles what it uses.
   */
  #learn(beginMs: number): void {
    const before = this.#lastProbeMs ?? (beginMs < computingMs ? beginMs : undefined);
    this.#lastProbeMs = beginMs;
    if (before === undefined) return;
    if (this.#beginMs === undefined) this.#beginMs = Math.min(before, beginMs);
    else if (beginMs <= this.#beginMs) this.#beginMs = Math.max(beginMs, this.#beginMs / 2);
    else {
      this.#beginMs = Math.max(this.#beginMs, Math.min(before, beginMs));
      if (before < computingMs && beginMs >= computingMs) this.#probedMs = Number.NEGATIVE_INFINITY;
    }
  }

  #advance(upTo: number): void {
    if (upTo <= this.#begun) return;
    let begun = upTo - this.#begun;
    if (this.#unanswered.size > 0)
      for (const call of this.#unanswered) if (call <= upTo && this.#unanswered.delete(call)) begun -= 1;
    this.#begun = upTo;
    this.#running += begun;
  }
}
