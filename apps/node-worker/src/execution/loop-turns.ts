/** Work of one turn of the event loop after which the next invocation waits for another turn. */
const turnMs = 5;

/**
 * Lets the event loop turn between invocations that compute. Requests that arrive together would otherwise run in one turn, and
 * their responses would leave together at its end. Invocations that take no time share a turn.
 *
 * - open: a turn began less than `turnMs` ago; invocations begin at once
 * - queued: more time has passed, in which an invocation may have computed; the others wait for the next turn, in order
 *
 * It is not known whether the loop has turned since: the first invocation after a pause waits for a turn as well. That is cheaper
 * than to watch every turn (`bench:function-rpc`, 1 in flight).
 */
export class LoopTurns {
  readonly #nowMs: () => number;
  readonly #waiting: (() => void)[] = [];
  #startedMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Returns undefined if an invocation may begin now, else a promise of its turn. */
  next(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#nowMs() - this.#startedMs < turnMs) return undefined;
    return new Promise((resolve) => this.#enqueue(resolve));
  }

  /** Calls back when all invocations whose requests have arrived in this turn or before have begun. */
  whenBegun(callback: () => void): void {
    // After the microtasks of this turn: an invocation joins the queue in one of them.
    setImmediate(() => {
      if (this.#waiting.length === 0) callback();
      else this.#enqueue(callback);
    });
  }

  #enqueue(begin: () => void): void {
    if (this.#waiting.push(begin) === 1) setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#startedMs = this.#nowMs();
    this.#begin();
  };

  readonly #begin = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) queueMicrotask(this.#continue);
  };

  /** Runs after the code of the invocation that has begun, up to its first await. */
  readonly #continue = (): void => {
    if (this.#nowMs() - this.#startedMs < turnMs) this.#begin();
    else setImmediate(this.#turn);
  };
}
