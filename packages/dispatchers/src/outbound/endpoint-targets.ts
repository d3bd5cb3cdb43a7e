import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { CircuitBreaker, defaultBreakerPolicy, type BreakerPolicy } from './circuit-breaker.js';
import { EndpointConnections } from './endpoint-connections.js';
import type { ConnectionLimits } from './endpoint-connection.js';
import type { EndpointGuard } from './endpoint-guard.js';
import type { EndpointObservation } from './observations.js';

/** One origin as one tenant calls it: tenants share neither connections nor what is known about them. */
export interface EndpointTarget {
  readonly key: string;
  /** As it may be shown: no path, no query. */
  readonly origin: string;
  readonly connections: EndpointConnections;
  readonly breaker: CircuitBreaker;
  /** Made room for others: whoever still holds it must ask for a new one. */
  isRetired: boolean;
}

export interface EndpointTargetsOptions {
  readonly guard: EndpointGuard;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'fraction'>;
  readonly observe: Observe<EndpointObservation>;
  readonly limits: ConnectionLimits;
  readonly maxTargets?: number | undefined;
  readonly breaker?: BreakerPolicy | undefined;
  readonly ca?: string | undefined;
}

/** Remembers origins with their idle connections and breakers: a bounded number of them, unless more are called at the same time. */
export class EndpointTargets {
  readonly #options: EndpointTargetsOptions;
  /** Oldest first. */
  readonly #targets = new Map<string, EndpointTarget>();

  constructor(options: EndpointTargetsOptions) {
    this.#options = options;
  }

  targetFor(tenantId: string, url: URL): EndpointTarget {
    const key = `${tenantId} ${url.origin}`;
    const known = this.#targets.get(key);
    if (known) return known;
    const { guard, clock, randomness, observe, limits, ca, breaker = defaultBreakerPolicy } = this.#options;
    const { origin } = url;
    const target: EndpointTarget = {
      key,
      origin,
      connections: new EndpointConnections({ url, limits, guard, clock, ...(ca === undefined ? {} : { ca }) }),
      breaker: new CircuitBreaker(breaker, randomness, (change) =>
        observe({ kind: 'endpoint.breaker-moved', origin, tenantId, ...change }),
      ),
      isRetired: false,
    };
    this.#makeRoom();
    this.#targets.set(key, target);
    return target;
  }

  /** Ends everything, calls in flight too. */
  async close(): Promise<void> {
    await Promise.all([...this.#targets.values()].map((target) => this.#retire(target)));
  }

  /** Goes for the oldest that nobody calls right now. */
  #makeRoom(): void {
    const { maxTargets = 1_024 } = this.#options;
    if (this.#targets.size < maxTargets) return;
    for (const target of this.#targets.values()) {
      if (target.connections.inUse > 0) continue;
      void this.#retire(target);
      return;
    }
  }

  async #retire(target: EndpointTarget): Promise<void> {
    target.isRetired = true;
    this.#targets.delete(target.key);
    await target.connections.close();
  }
}
