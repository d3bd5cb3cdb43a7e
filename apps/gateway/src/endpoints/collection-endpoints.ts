import { existsSync } from 'node:fs';
import type { CollectionRoute } from '@drover/contracts';
import { localSocketFile } from '@drover/http-edge';
import { isLoopback } from '@drover/service-kit';
import { CollectionEndpoint, type CollectionEndpointOptions } from './collection-endpoint.js';

export interface CollectionEndpointsOptions
  extends Pick<CollectionEndpointOptions, 'policy' | 'clock' | 'onBusy' | 'onMove'> {
  /** Where workers on this machine have their Unix sockets. */
  readonly socketDirectory?: string | undefined;
}

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
    const localSocket = (): string | undefined => localSocketOf(url, this.#options.socketDirectory);
    const endpoint = new CollectionEndpoint({ workerId, url, localSocket, ...this.#options });
    this.#endpoints.set(keyOf(workerId, address), endpoint);
    return endpoint;
  }
}

const keyOf = (workerId: string, url: string): string => `${workerId} ${new URL(url).href}`;

/** Returns the Unix socket of a worker on this machine; undefined if it has none. */
function localSocketOf({ protocol, hostname, port }: URL, directory: string | undefined): string | undefined {
  if (directory === undefined || protocol !== 'http:' || !isLoopback(hostname)) return undefined;
  const file = localSocketFile(directory, port || 80);
  return existsSync(file) ? file : undefined;
}
