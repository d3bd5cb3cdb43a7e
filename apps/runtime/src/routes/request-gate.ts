/**
 * Limits the concurrent and the outstanding requests of one application. A request above the concurrency limit waits in a FIFO
 * queue; a request above the outstanding limit is refused.
 */
export class RequestGate {
  readonly #maxRunning: number;
  readonly #maxOutstanding: number;
  readonly #queue: Set<(mayRun: boolean) => void> = new Set();
  #running = 0;

  constructor(limits: {
    readonly maxConcurrentRequests: number | undefined;
    readonly maxOutstandingRequests: number | undefined;
  }) {
    this.#maxRunning = limits.maxConcurrentRequests ?? Number.POSITIVE_INFINITY;
    this.#maxOutstanding = limits.maxOutstandingRequests ?? Number.POSITIVE_INFINITY;
  }

  get outstanding(): number {
    return this.#running + this.#queue.size;
  }

  get limit(): number {
    return this.#maxOutstanding;
  }

  /** True: run, then call `leave`. False: refused, or the signal aborted in the queue. */
  enter(signal: AbortSignal): boolean | Promise<boolean> {
    if (this.outstanding >= this.#maxOutstanding) return false;
    if (this.#running < this.#maxRunning) {
      this.#running += 1;
      return true;
    }
    return this.#wait(signal);
  }

  /** Passes the slot to the request that has waited longest. */
  leave(): void {
    const [next] = this.#queue;
    if (next) next(true);
    else this.#running -= 1;
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const turn = (mayRun: boolean): void => {
        this.#queue.delete(turn);
        signal.removeEventListener('abort', cancel);
        resolve(mayRun);
      };
      const cancel = (): void => turn(false);
      if (signal.aborted) return resolve(false);
      this.#queue.add(turn);
      signal.addEventListener('abort', cancel, { once: true });
    });
  }
}
