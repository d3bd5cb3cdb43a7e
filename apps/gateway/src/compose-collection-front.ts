import { availableParallelism } from 'node:os';
import type { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { corsPolicyOf } from '@drover/http-edge';
import { createObserve, step, type Lifecycle, type PartHealth, type ProcessIo } from '@drover/service-kit';
import { CollectionNames } from './collections/collection-names.js';
import { CollectionProxy, type CollectionProxyOptions } from './collections/collection-proxy.js';
import type { GatewayConfig } from './config.js';
import { CollectionEndpoints } from './endpoints/collection-endpoints.js';
import { EndpointProbe } from './endpoints/endpoint-probe.js';
import { EndpointWatch } from './endpoints/endpoint-watch.js';
import { collectionFrontMetrics, collectionFrontReaders } from './observations.js';
import { defaultEndpointPolicy, stickyRequestsFor } from './picking/endpoint.js';
import { CollectionRoutes } from './routes/collection-routes.js';

export interface CollectionFrontParts extends Pick<CollectionProxyOptions, 'authenticator' | 'functions'> {
  readonly database: Database;
  readonly bus: EventBus;
  /** Called with the names of all collections after each change. */
  readonly onNames?: (names: readonly string[]) => void;
}

export interface CollectionFront {
  readonly proxy: CollectionProxy;
  readonly parts: readonly Lifecycle[];
  /** Not ready if no worker of a collection answers. */
  readonly health: () => PartHealth;
}

/** The part of a gateway that serves collections. Start `parts` before the port opens: no request meets an empty table. */
export function composeCollectionFront(
  config: GatewayConfig,
  { sinks, clock, randomness }: Pick<ProcessIo, 'sinks' | 'clock' | 'randomness'>,
  { database, bus, onNames, ...parts }: CollectionFrontParts,
): CollectionFront {
  const observe = createObserve(collectionFrontReaders, sinks);
  const names = new CollectionNames({ database, bus, ...(onNames && { onChange: onNames }) });
  const policy = {
    ...defaultEndpointPolicy,
    maxInFlight: config.maxWorkerRequests,
    stickyRequests: config.stickyRequests || stickyRequestsFor(availableParallelism()),
  };
  const watch = new EndpointWatch({ clock, timeoutMs: config.responseTimeoutMs });
  const endpoints = new CollectionEndpoints({
    policy,
    socketDirectory: config.workerSocketDirectory,
    clock,
    onBusy: watch.watch,
    onMove: ({ id: workerId, url, isHung }, change) =>
      observe({ kind: 'gateway.endpoint-moved', workerId, url: url.href, isHung, ...change }),
  });
  const routes = new CollectionRoutes({ database, bus, endpoints, zone: config.gatewayZone, clock });
  const proxy = new CollectionProxy({
    ...config,
    cors: corsPolicyOf(config),
    names,
    routes,
    clock,
    randomness,
    observe,
    ...parts,
  });
  sinks.metrics.compute(
    collectionFrontMetrics(() => ({ endpoints: endpoints.all, routes: routes.size, held: proxy.held })),
  );
  const watching = step('endpoint watch', { down: async () => watch.stop() });
  const probe = new EndpointProbe({ endpoints: () => endpoints.all, clock });
  return { proxy, parts: [watching, names, routes, probe, proxy], health: () => probe.health() };
}
