import type { CollectionStore } from '@drover/collection-engine';
import { collectionRoutes, controlRoutes, type CollectionDefinition, type CollectionView } from '@drover/contracts';
import type { CollectionDefinitions } from '../collections/collection-definitions.js';
import {
  pageOfCollections,
  toCollectionChangeView,
  toCollectionView,
  toCollectionVersionView,
} from '../collections/collection-view.js';
import type { ChangedCollection, DefinitionChanges } from '../collections/definition-changes.js';
import {
  patchDefinition,
  replaceDefinition,
  withChangedField,
  withField,
  withoutField,
} from '../collections/edit-definition.js';
import { collectionVersionUnknown } from '../collections/errors.js';
import { requestInvalid } from '../errors.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';
import type { RouteGuard } from '../route-clashes/route-guard.js';

export interface CollectionHandlersOptions {
  readonly definitions: CollectionDefinitions;
  readonly changes: DefinitionChanges;
  readonly store: Pick<CollectionStore, 'versions'>;
  readonly routeGuard: Pick<RouteGuard, 'list'>;
}

export function collectionHandlers(options: CollectionHandlersOptions): RouteHandler[] {
  return [
    ...readingHandlers(options),
    ...definingHandlers(options),
    ...changingHandlers(options),
    ...fieldHandlers(options),
  ];
}

function readingHandlers({ definitions, changes, store, routeGuard }: CollectionHandlersOptions): RouteHandler[] {
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
      return reply(200, { versions: versions.map(toCollectionVersionView) });
    }),
    handle(collectionRoutes.getCollectionVersion, async ({ caller, params }) => {
      await definitions.get(caller, params.collection);
      const versions = await store.versions(caller.tenantId, params.collection);
      const found = versions.find(({ version }) => version === params.version);
      if (!found) throw collectionVersionUnknown(params);
      return reply(200, { ...toCollectionVersionView(found), definition: found.definition });
    }),
    handle(collectionRoutes.listCollectionChanges, async ({ caller, params }) =>
      reply(200, { changes: (await changes.list(caller, params.collection)).map(toCollectionChangeView) }),
    ),
    handle(controlRoutes.listRouteClashes, async ({ caller }) =>
      reply(200, { clashes: await routeGuard.list(caller.tenantId) }),
    ),
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

function changingHandlers({ changes }: CollectionHandlersOptions): RouteHandler[] {
  return [
    handle(collectionRoutes.replaceCollection, async ({ caller, params, query, body }) => {
      const { collection } = params;
      const edit = () => replaceDefinition(collection, body);
      return answer(await changes.change(caller, collection, edit, query.expectedVersion));
    }),
    handle(collectionRoutes.patchCollection, async ({ caller, params, query, body }) => {
      const changed = await changes.change(
        caller,
        params.collection,
        (before) => patchDefinition(before, body),
        query.expectedVersion,
      );
      return answer(changed);
    }),
    handle(collectionRoutes.planCollections, async ({ caller, body }) =>
      reply(200, { plans: await changes.plan(caller, setOf(body)) }),
    ),
    handle(collectionRoutes.applyCollections, async ({ caller, body }) => {
      const { plans, collections } = await changes.apply(caller, setOf(body));
      const applied = { plans, collections: collections.map(toView) };
      return collections.some(({ running }) => running) ? reply(202, applied) : reply(200, applied);
    }),
  ];
}

function fieldHandlers({ changes }: CollectionHandlersOptions): RouteHandler[] {
  return [
    handle(collectionRoutes.addField, async ({ caller, params, query, body }) => {
      const edit = (before: CollectionDefinition) => withField(before, body);
      const changed = await changes.change(caller, params.collection, edit, query.expectedVersion);
      return changed.running ? reply(202, toView(changed)) : reply(201, toView(changed));
    }),
    handle(collectionRoutes.replaceField, async ({ caller, params, query, body }) => {
      const edit = (before: CollectionDefinition) => withChangedField(before, params.field, body);
      return answer(await changes.change(caller, params.collection, edit, query.expectedVersion));
    }),
    handle(collectionRoutes.removeField, async ({ caller, params, query }) => {
      const edit = (before: CollectionDefinition) => withoutField(before, params.field);
      return answer(await changes.change(caller, params.collection, edit, query.expectedVersion));
    }),
  ];
}

function answer(changed: ChangedCollection) {
  return changed.running ? reply(202, toView(changed)) : reply(200, toView(changed));
}

function toView({ collection, running }: ChangedCollection): CollectionView {
  return toCollectionView(collection, running);
}

/** The body of these routes is not validated before: it may be anything. */
function setOf(body: unknown): readonly unknown[] {
  const { collections } = (body ?? {}) as { readonly collections?: unknown };
  if (Array.isArray(collections) && collections.length > 0 && collections.length <= maxSet) return collections;
  throw requestInvalid({
    problem: `The body must be an object with "collections", a list of 1 to ${maxSet} definitions.`,
  });
}

const maxSet = 200;
