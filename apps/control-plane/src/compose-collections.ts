import {
  CollectionChanges,
  CollectionStore,
  PicklistStore,
  SchemaChangeRunner,
  type ApiKeyStore,
} from '@drover/collection-engine';
import { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { Clock, Lifecycle, Observe, Randomness } from '@drover/service-kit';
import { collectionHandlers } from './api/collection-handlers.js';
import { picklistHandlers } from './api/picklist-handlers.js';
import { CollectionDefinitions } from './collections/collection-definitions.js';
import { DefinitionChanges } from './collections/definition-changes.js';
import { Picklists } from './collections/picklists.js';
import type { ControlPlaneConfig } from './config.js';
import type { RouteHandler } from './http/route-handler.js';
import type { ControlPlaneObservation } from './observations.js';
import type { RouteGuard } from './route-clashes/route-guard.js';

export interface CollectionParts {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'publish'>;
  readonly keys: ApiKeyStore;
  readonly routeGuard: RouteGuard;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

/** The build of an index over a large collection may take hours. */
const longestStatementMs = 24 * 3_600_000;

/** Definitions of collections, and the changes of their tables. */
export interface ComposedCollections {
  readonly definitions: CollectionDefinitions;
  readonly life: Lifecycle;
  readonly handlers: readonly RouteHandler[];
}

export function composeCollections(
  config: ControlPlaneConfig,
  { database, bus, keys, routeGuard, ...io }: CollectionParts,
): ComposedCollections {
  const cleanupDelayMs = config.collectionCleanupDelayMs;
  const { admitNames } = routeGuard;
  const catalog = { database, bus, maxCollections: config.maxCollections, cleanupDelayMs, admitNames };
  const store = new CollectionStore(catalog);
  const changes = new CollectionChanges({ ...catalog, followRenames: (...given) => keys.followRenames(...given) });
  const sessions = new Database({
    url: config.databaseUrl,
    applicationName: 'drover control-plane',
    limits: { statementTimeoutMs: longestStatementMs, connectTimeoutMs: config.databaseConnectTimeoutMs },
    ...io,
  });
  const runner = new SchemaChangeRunner({ database, sessions, changes, ...io });
  const canEncrypt = config.secretsKey !== undefined;
  const picklists = new PicklistStore(database);
  const definitions = new CollectionDefinitions({ store, picklists, canEncrypt, observe: io.observe });
  const definitionChanges = new DefinitionChanges({ definitions, store, changes, runner, routeGuard, clock: io.clock });
  return {
    definitions,
    life: runner,
    handlers: [
      ...collectionHandlers({ definitions, changes: definitionChanges, store, routeGuard }),
      ...picklistHandlers(new Picklists({ picklists, collections: store, changes: definitionChanges })),
    ],
  };
}
