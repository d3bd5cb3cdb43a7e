import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { CircuitBreaker, defaultBreakerPolicy, type BreakerPolicy } from './circuit-breaker.js';
import { EndpointConnections } from './endpoint-connections.js';
import type { ConnectionLimits } from './endpoint-connection.js';
import type { EndpointGuard } from './endpoint-guard.js';
import type { EndpointObservation } from './observations.js';

/** One origin of one tenant. Tenants share neither connections nor circuit breakers. */
export interface EndpointTarget {
  readonly key: string;
  /** For messages and logs: without path and query, which may contain keys. */
  readonly origin: string;
  readonly connections: EndpointConnections;
  readonly breaker: CircuitBreaker;
  /** It was evicted: callers that hold it must request a new one. */
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

/** Keeps the targets with their idle connections and circuit breakers. Evicts the oldest unused one above `maxTargets`. */
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

  /** Closes all connections, also those with calls in flight. */
  async close(): Promise<void> {
    await Promise.all([...this.#targets.values()].map((target) => this.#retire(target)));
  }

  /** Evicts the oldest target without a call in flight, if there is one. */
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
