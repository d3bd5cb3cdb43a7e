import type { Clock } from '@drover/service-kit';

export interface HeldRequestsOptions {
  /** Further requests are refused. */
  readonly maxRequests: number;
  /** Returns whether a server accepts requests for the key now. Called while such requests wait, and never twice at a time. */
  readonly probe: (key: string) => Promise<boolean>;
  readonly clock: Clock;
}

/** A request that waits for a server. Exactly one of `resume` and `giveUp` is called, unless it is cancelled. */
export interface HeldRequest {
  /** Requests with the same key wait for the same servers. */
  readonly key: string;
  /** Time until which it waits, by the monotonic clock. */
  readonly untilMs: number;
  resume(): void;
  giveUp(): void;
}

/** A server that is started again takes hundreds of milliseconds; a refused connection on this machine less than one. */
const probeEveryMs = 25;

/** The requests of one key, each with the function that ends its deadline. */
interface Group {
  readonly requests: Map<HeldRequest, () => void>;
  cancelProbe: (() => void) | undefined;
  isProbing: boolean;
}

/**
 * Requests that wait while no server accepts them. One probe for all of a key looks for a server and resumes them in the
 * order of their arrival; a request whose time is over gives up. Nothing runs while no request waits.
 */
export class HeldRequests {
  readonly #options: HeldRequestsOptions;
  readonly #groups = new Map<string, Group>();
  #count = 0;
  #isClosed = false;

  constructor(options: HeldRequestsOptions) {
    this.#options = options;
  }

  /** Requests that wait now. */
  get count(): number {
    return this.#count;
  }

  /** Holds a request. Returns the function that cancels it; undefined if it cannot be held: too many wait, or its time is over. */
  hold(request: HeldRequest): (() => void) | undefined {
    const { clock, maxRequests } = this.#options;
    const { key, untilMs } = request;
    const leftMs = untilMs - clock.monotonicMs();
    if (this.#isClosed || leftMs <= 0 || this.#count >= maxRequests) return undefined;
    const group: Group = this.#groups.get(key) ?? { requests: new Map(), cancelProbe: undefined, isProbing: false };
    this.#groups.set(key, group);
    this.#count += 1;
    const cancel = clock.after(leftMs, () => {
      this.#remove(group, request);
      request.giveUp();
    });
    group.requests.set(request, cancel);
    this.#probeLater(key, group);
    return () => this.#remove(group, request);
  }

  /** Something has changed for the requests of a key, of all keys if undefined: they are probed now. */
  wake(key?: string): void {
    if (key === undefined) for (const each of this.#groups.keys()) this.wake(each);
    else {
      const group = this.#groups.get(key);
      if (group) void this.#probe(key, group);
    }
  }

  /** Holds no more requests, and gives up those that wait. */
  close(): void {
    this.#isClosed = true;
    for (const group of this.#groups.values()) {
      group.cancelProbe?.();
      for (const request of this.#take(group)) request.giveUp();
    }
    this.#groups.clear();
  }

  #remove(group: Group, request: HeldRequest): void {
    const cancel = group.requests.get(request);
    if (!cancel) return;
    cancel();
    group.requests.delete(request);
    this.#count -= 1;
  }

  #take(group: Group): readonly HeldRequest[] {
    const requests = [...group.requests.keys()];
    for (const request of requests) this.#remove(group, request);
    return requests;
  }

  #probeLater(key: string, group: Group): void {
    if (group.cancelProbe || group.isProbing || this.#isClosed) return;
    group.cancelProbe = this.#options.clock.after(probeEveryMs, () => void this.#probe(key, group));
  }

  async #probe(key: string, group: Group): Promise<void> {
    group.cancelProbe?.();
    group.cancelProbe = undefined;
    if (group.isProbing) return;
    if (group.requests.size > 0) {
      group.isProbing = true;
      const isThere = await this.#options.probe(key).catch(() => false);
      group.isProbing = false;
      if (isThere) for (const request of this.#take(group)) request.resume();
    }
    if (group.requests.size > 0) this.#probeLater(key, group);
    else if (this.#groups.get(key) === group) this.#groups.delete(key);
  }
}
