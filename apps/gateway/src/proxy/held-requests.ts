import type { Clock } from '@drover/service-kit';

export interface HeldRequestsOptions {
  /** Further requests are refused. */
  readonly maxRequests: number;
  /** Returns whether a runtime accepts connections now. Called while requests wait, and never twice at a time. */
  readonly probe: () => Promise<boolean>;
  readonly clock: Clock;
}

/** A request that waits for a runtime. Exactly one of `resume` and `giveUp` is called, unless it is cancelled. */
export interface HeldRequest {
  /** Time until which it waits, by the monotonic clock. */
  readonly untilMs: number;
  resume(): void;
  giveUp(): void;
}

/** A runtime that is started again takes hundreds of milliseconds; a refused connection on this machine less than one. */
const probeEveryMs = 25;

/**
 * Requests that wait while no runtime accepts connections. One probe for all of them looks for a runtime and resumes them in the
 * order of their arrival; a request whose time is over gives up. Nothing runs while no request waits.
 */
export class HeldRequests {
  readonly #options: HeldRequestsOptions;
  /** The held requests, each with the function that ends its deadline. */
  readonly #held = new Map<HeldRequest, () => void>();
  #cancelProbe: (() => void) | undefined;
  #isProbing = false;
  #isClosed = false;

  constructor(options: HeldRequestsOptions) {
    this.#options = options;
  }

  /** Holds a request. Returns the function that cancels it; undefined if it cannot be held: too many wait, or its time is over. */
  hold(request: HeldRequest): (() => void) | undefined {
    const { clock, maxRequests } = this.#options;
    const leftMs = request.untilMs - clock.monotonicMs();
    if (this.#isClosed || leftMs <= 0 || this.#held.size >= maxRequests) return undefined;
    this.#held.set(
      request,
      clock.after(leftMs, () => {
        this.#held.delete(request);
        request.giveUp();
      }),
    );
    this.#probeLater();
    return () => this.#remove(request);
  }

  /** Holds no more requests, and gives up those that wait. */
  close(): void {
    this.#isClosed = true;
    this.#cancelProbe?.();
    for (const request of this.#take()) request.giveUp();
  }

  #remove(request: HeldRequest): void {
    this.#held.get(request)?.();
    this.#held.delete(request);
  }

  #take(): readonly HeldRequest[] {
    const requests = [...this.#held.keys()];
    for (const request of requests) this.#remove(request);
    return requests;
  }

  #probeLater(): void {
    if (this.#cancelProbe || this.#isProbing || this.#isClosed) return;
    this.#cancelProbe = this.#options.clock.after(probeEveryMs, () => {
      this.#cancelProbe = undefined;
      void this.#probe();
    });
  }

  async #probe(): Promise<void> {
    if (this.#held.size === 0) return;
    this.#isProbing = true;
    const isThere = await this.#options.probe().catch(() => false);
    this.#isProbing = false;
    if (isThere) for (const request of this.#take()) request.resume();
    if (this.#held.size > 0) this.#probeLater();
  }
}
