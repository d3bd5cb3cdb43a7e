import Type from 'typebox';
import { CollectionRoute, collectionWorkerStatuses } from '../collection-worker.js';
import { literalUnion } from '../literal-union.js';
import { defineTopic } from './topic.js';

export const apiKeyChanged = defineTopic('drover.api-keys', {
  about: 'An API key was created, replaced or revoked. Subscribers that cache it must read it again.',
  schema: Type.Object({ keyId: Type.String(), tenantId: Type.String(), revoked: Type.Boolean() }),
});

export const functionChanged = defineTopic('drover.functions', {
  about: 'A function was registered, changed or removed. Subscribers that cache it must read it again.',
  schema: Type.Object({ tenantId: Type.String(), name: Type.String(), removed: Type.Boolean() }),
});

export const applicationChanged = defineTopic('drover.applications', {
  about: 'An application was deployed, changed or removed. Subscribers that cache it must read it again.',
  schema: Type.Object({ tenantId: Type.String(), applicationId: Type.String(), removed: Type.Boolean() }),
});

export const collectionChanged = defineTopic('drover.collections', {
  about: 'A collection was defined, changed or removed. Subscribers that cache its definition must read it again.',
  schema: Type.Object({
    tenantId: Type.String(),
    collectionId: Type.String(),
    name: Type.String(),
    removed: Type.Boolean(),
  }),
});

export const recordChanged = defineTopic('drover.records', {
  about:
    'A record was created, updated, deleted or restored. Published if `DROVER_RECORD_EVENTS_ON_BUS` is `on`; `position` is that of the change in `_changes`.',
  schema: Type.Object({
    tenantId: Type.String(),
    collectionId: Type.String(),
    collection: Type.String(),
    recordId: Type.String(),
    kind: Type.String(),
    position: Type.Integer(),
  }),
});

export const collectionRouteChanged = defineTopic('drover.collection-routes', {
  about:
    'Other workers serve a collection from now on. The event has the whole route: one with an older generation is ignored.',
  schema: CollectionRoute,
});

export const assignmentChanged = defineTopic('drover.worker.assignment.changed', {
  about: 'A collection worker is to serve a collection, or to stop. It asks for all its assignments then.',
  schema: Type.Object({
    workerId: Type.String(),
    collectionId: Type.String(),
    action: literalUnion(['ASSIGN', 'UNASSIGN']),
    workerUrl: Type.String(),
    generation: Type.Integer(),
  }),
});

export const workerStatusChanged = defineTopic('drover.worker.status.changed', {
  about: 'A collection worker registered, became ready, drains, or its heartbeats stopped.',
  schema: Type.Object({
    workerId: Type.String(),
    status: literalUnion(collectionWorkerStatuses),
    collections: Type.Array(Type.String(), { description: 'Ids of its collections' }),
  }),
});

export const collectionCapacityNeeded = defineTopic('drover.worker.scale-up-needed', {
  about: 'Collections of a pool wait because no worker has room for them. The scale controller may start workers.',
  schema: Type.Object({ pool: Type.String(), unassigned: Type.Integer() }),
});

/** All topics. */
export const topics = [
  apiKeyChanged,
  functionChanged,
  applicationChanged,
  collectionChanged,
  recordChanged,
  collectionRouteChanged,
  assignmentChanged,
  workerStatusChanged,
  collectionCapacityNeeded,
] as const;
