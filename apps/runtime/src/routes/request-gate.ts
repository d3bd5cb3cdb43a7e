/**
 * How many requests of one application run at once and how many are on their way at all. One that finds no place to run
 * waits in line; one that finds no place in line is turned away.
 */
export class RequestGate {
  readonly #maxRunning: number;
  readonly #maxOutstanding: number;
  readonly #line: Set<(mayRun: boolean) => void> = new Set();
  #running = 0;

  constructor(limits: {
    readonly maxConcurrentRequests: number | undefined;
    readonly maxOutstandingRequests: number | undefined;
  }) {
    this.#maxRunning = limits.maxConcurrentRequests ?? Number.POSITIVE_INFINITY;
    this.#maxOutstanding = limits.maxOutstandingRequests ?? Number.POSITIVE_INFINITY;
  }

  get outstanding(): number {
    return this.#running + this.#line.size;
  }

  get limit(): number {
    return this.#maxOutstanding;
  }

  /** True: run, and call `leave` afterwards. False: turned away, or the signal aborted while in line. */
  enter(signal: AbortSignal): boolean | Promise<boolean> {
    if (this.outstanding >= this.#maxOutstanding) return false;
    if (this.#running < this.#maxRunning) {
      this.#running += 1;
      return true;
    }
    return this.#wait(signal);
  }

  /** Hands the place to whoever has waited longest. */
  leave(): void {
    const [next] = this.#line;
    if (next) next(true);
    else this.#running -= 1;
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const turn = (mayRun: boolean): void => {
        this.#line.delete(turn);
        signal.removeEventListener('abort', giveUp);
        resolve(mayRun);
      };
      const giveUp = (): void => turn(false);
      if (signal.aborted) return resolve(false);
      this.#line.add(turn);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}
