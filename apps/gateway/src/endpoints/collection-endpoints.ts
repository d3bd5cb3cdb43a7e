import type { CollectionRoute } from '@drover/contracts';
import { CollectionEndpoint, type CollectionEndpointOptions } from './collection-endpoint.js';

export interface CollectionEndpointsOptions
  extends Pick<CollectionEndpointOptions, 'policy' | 'clock' | 'onBusy' | 'onMove'> {}

/**
 * The workers that routes name. An endpoint lives as long as a route names its worker at its address, so that all collections of a
 * worker share its connections and what is known about its health. Calls that are in flight when the last route leaves it go on.
 */
export class CollectionEndpoints {
  readonly #options: CollectionEndpointsOptions;
  readonly #endpoints = new Map<string, CollectionEndpoint>();
  /** Closing: their calls in flight hold them open. */
  readonly #retired = new Set<CollectionEndpoint>();

  constructor(options: CollectionEndpointsOptions) {
    this.#options = options;
  }

  get all(): readonly CollectionEndpoint[] {
    return [...this.#endpoints.values()];
  }

  /** Returns the endpoints of a route. The caller must pass them to `release` when the route no longer holds. */
  acquire(named: CollectionRoute['endpoints']): readonly CollectionEndpoint[] {
    const usable = named.filter(({ url }) => URL.canParse(url));
    return usable.map(({ workerId, url, zone }) => {
      const endpoint = this.#endpoints.get(keyOf(workerId, url)) ?? this.#open(workerId, url);
      endpoint.references += 1;
      endpoint.zone = zone;
      return endpoint;
    });
  }

  release(endpoints: readonly CollectionEndpoint[]): void {
    for (const endpoint of endpoints) {
      endpoint.references -= 1;
      if (endpoint.references > 0) continue;
      this.#endpoints.delete(keyOf(endpoint.id, endpoint.url.href));
      for (const retired of this.#retired) if (retired.pool.isUnused) this.#retired.delete(retired);
      this.#retired.add(endpoint);
      endpoint.pool.retire();
    }
  }

  /** Closes all connections; calls in flight fail. */
  async close(): Promise<void> {
    await Promise.all([...this.all, ...this.#retired].map(({ pool }) => pool.close()));
  }

  #open(workerId: string, address: string): CollectionEndpoint {
    const url = new URL(address);
    const endpoint = new CollectionEndpoint({ workerId, url, ...this.#options });
    this.#endpoints.set(keyOf(workerId, address), endpoint);
    return endpoint;
  }
}

const keyOf = (workerId: string, url: string): string => `${workerId} ${new URL(url).href}`;
