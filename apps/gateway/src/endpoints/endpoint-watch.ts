import type { Clock } from '@drover/service-kit';
import type { CollectionEndpoint } from './collection-endpoint.js';

export interface EndpointWatchOptions {
  readonly clock: Clock;
  /** How long a request may wait for its answer to begin; 0: without an end. */
  readonly timeoutMs: number;
}

/** Between two looks at the endpoints with requests in flight. */
const checkEveryMs = 250;
/** An endpoint that answered nothing for so long is asked whether it lives, */
const silenceMs = 1_000;
/** and hangs if it does not answer that in as long. A worker answers it without PostgreSQL. */
const answerWithinMs = 1_000;

/**
 * Finds endpoints that accept requests and answer none, as a stopped process does: the connection stands, so nothing else would tell.
 * Also ends requests whose time is over. One timer for all, which runs only while requests are in flight or an endpoint hangs.
 */
export class EndpointWatch {
  readonly #options: EndpointWatchOptions;
  readonly #watched = new Set<CollectionEndpoint>();
  readonly #asked = new Set<CollectionEndpoint>();
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(options: EndpointWatchOptions) {
    this.#options = options;
  }

  /** An endpoint has a request in flight. */
  readonly watch = (endpoint: CollectionEndpoint): void => {
    this.#watched.add(endpoint);
    if (this.#cancel || this.#isStopped) return;
    this.#cancel = this.#options.clock.after(checkEveryMs, this.#check);
  };

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    this.#watched.clear();
  }

  readonly #check = (): void => {
    this.#cancel = undefined;
    const nowMs = this.#options.clock.monotonicMs();
    for (const endpoint of this.#watched) {
      this.#endOverdue(endpoint, nowMs);
      if (isSilent(endpoint, nowMs)) void this.#ask(endpoint);
      // One that hangs in vain for requests is watched until it answers, or until no route names it.
      const isWatched = endpoint.calls.size > 0 || (endpoint.isHung && endpoint.references > 0);
      if (!isWatched) this.#watched.delete(endpoint);
    }
    const [next] = this.#watched;
    if (next) this.watch(next);
  };

  #endOverdue({ calls }: CollectionEndpoint, nowMs: number): void {
    const { timeoutMs } = this.#options;
    if (timeoutMs === 0) return;
    for (const call of calls) if (!call.hasBegun && nowMs - call.sinceMs > timeoutMs) call.timeOut();
  }

  async #ask(endpoint: CollectionEndpoint): Promise<void> {
    if (this.#asked.has(endpoint)) return;
    this.#asked.add(endpoint);
    const isThere = await endpoint.answers(answerWithinMs).catch(() => false);
    this.#asked.delete(endpoint);
    const nowMs = this.#options.clock.monotonicMs();
    if (isThere) {
      endpoint.heardMs = nowMs;
      return endpoint.recover(nowMs);
    }
    // It may have answered a request meanwhile.
    if (this.#isStopped || nowMs - endpoint.heardMs < answerWithinMs) return;
    endpoint.ejectAsHung(nowMs);
    for (const call of endpoint.calls) call.leaveHung();
  }
}

function isSilent({ heardMs, calls, isHung }: CollectionEndpoint, nowMs: number): boolean {
  if (isHung) return true;
  if (calls.size === 0 || nowMs - heardMs < silenceMs) return false;
  for (const { hasBegun } of calls) if (!hasBegun) return true;
  return false;
}
