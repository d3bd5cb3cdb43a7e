import type { CollectionStore } from '@drover/collection-engine';
import { collectionRoutes } from '@drover/contracts';
import type { CollectionDefinitions } from '../collections/collection-definitions.js';
import { pageOfCollections, toCollectionView, toVersionView } from '../collections/collection-view.js';
import { collectionVersionUnknown } from '../collections/errors.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';

export interface CollectionHandlersOptions {
  readonly definitions: CollectionDefinitions;
  readonly store: Pick<CollectionStore, 'versions'>;
}

export function collectionHandlers(options: CollectionHandlersOptions): RouteHandler[] {
  return [...readingHandlers(options), ...definingHandlers(options)];
}

function readingHandlers({ definitions, store }: CollectionHandlersOptions): RouteHandler[] {
  return [
    handle(collectionRoutes.listCollections, async ({ caller, query }) =>
      reply(200, pageOfCollections(await definitions.list(caller), query.limit ?? 50, query.after)),
    ),
    handle(collectionRoutes.getCollection, async ({ caller, params }) =>
      reply(200, toCollectionView(await definitions.get(caller, params.collection))),
    ),
    handle(collectionRoutes.listCollectionVersions, async ({ caller, params }) => {
      await definitions.get(caller, params.collection);
      const versions = await store.versions(caller.tenantId, params.collection);
      return reply(200, { versions: versions.map(toVersionView) });
    }),
    handle(collectionRoutes.getCollectionVersion, async ({ caller, params }) => {
      await definitions.get(caller, params.collection);
      const versions = await store.versions(caller.tenantId, params.collection);
      const found = versions.find(({ version }) => version === params.version);
      if (!found) throw collectionVersionUnknown(params);
      return reply(200, { ...toVersionView(found), definition: found.definition });
    }),
  ];
}

function definingHandlers({ definitions }: CollectionHandlersOptions): RouteHandler[] {
  return [
    handle(collectionRoutes.createCollection, async ({ caller, body }) =>
      reply(201, toCollectionView(await definitions.create(caller, body))),
    ),
    handle(collectionRoutes.deleteCollection, async ({ caller, params, query }) => {
      await definitions.remove(caller, params.collection, query.expectedVersion);
      return reply(204, undefined);
    }),
  ];
}
