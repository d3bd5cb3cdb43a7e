import type { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { Clock, Lifecycle, Randomness } from '@drover/service-kit';
import { CollectionNames } from './collections/collection-names.js';
import { CollectionProxy, type CollectionProxyOptions } from './collections/collection-proxy.js';
import type { GatewayConfig } from './config.js';
import { CollectionEndpoints } from './endpoints/collection-endpoints.js';
import { defaultEndpointPolicy } from './picking/endpoint.js';
import { CollectionRoutes } from './routes/collection-routes.js';

export interface CollectionFrontParts extends Pick<CollectionProxyOptions, 'authenticator' | 'functions'> {
  readonly database: Database;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Called with the names of all collections after each change. */
  readonly onNames: (names: readonly string[]) => void;
}

/** The part of a gateway that serves collections. Start `parts` before the port opens: no request meets an empty table. */
export function composeCollectionFront(
  config: GatewayConfig,
  { database, bus, clock, onNames, ...parts }: CollectionFrontParts,
): { readonly proxy: CollectionProxy; readonly parts: readonly Lifecycle[] } {
  const names = new CollectionNames({ database, bus, onChange: onNames });
  const policy = { ...defaultEndpointPolicy, maxInFlight: config.maxWorkerRequests };
  const endpoints = new CollectionEndpoints({ policy, clock });
  const routes = new CollectionRoutes({ database, bus, endpoints, clock });
  const proxy = new CollectionProxy({ ...config, names, routes, clock, ...parts });
  return { proxy, parts: [names, routes, proxy] };
}
