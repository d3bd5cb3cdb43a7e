import { CollectionStore } from '@drover/collection-engine';
import type { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { Observe } from '@drover/service-kit';
import { collectionHandlers } from './api/collection-handlers.js';
import { CollectionDefinitions } from './collections/collection-definitions.js';
import type { ControlPlaneConfig } from './config.js';
import type { RouteHandler } from './http/route-handler.js';
import type { ControlPlaneObservation } from './observations.js';

export interface CollectionParts {
  readonly database: Database;
  readonly bus: EventBus;
  readonly observe: Observe<ControlPlaneObservation>;
}

/** Definitions of collections. */
export interface ComposedCollections {
  readonly handlers: readonly RouteHandler[];
}

export function composeCollections(
  config: ControlPlaneConfig,
  { database, bus, observe }: CollectionParts,
): ComposedCollections {
  const store = new CollectionStore({ database, bus, maxCollections: config.maxCollections });
  const canEncrypt = config.secretsKey !== undefined;
  const definitions = new CollectionDefinitions({ store, canEncrypt, observe });
  return { handlers: collectionHandlers({ definitions, store }) };
}
