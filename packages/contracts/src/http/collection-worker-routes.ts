import Type from 'typebox';
import { CollectionName } from '../collection.js';
import {
  assignmentStatuses,
  CollectionAssignmentView,
  CollectionWorkerView,
  NewCollectionWorker,
  CollectionWorkerHeartbeat,
  WorkerOrders,
} from '../collection-worker.js';
import { literalUnion } from '../literal-union.js';
import { defineRoute } from './route.js';

const ByWorker = Type.Object({ workerId: Type.String({ minLength: 1, maxLength: 100 }) });
const theOrders = { 200: { about: 'What the worker is to serve now', schema: WorkerOrders } };
const Assignments = Type.Object({ assignments: Type.Array(CollectionAssignmentView) });
const ManualAssignment = Type.Object(
  { collection: CollectionName, workerId: Type.String({ minLength: 1, maxLength: 100 }) },
  { additionalProperties: false },
);

/** Collection workers, and which of them serves which collection. Workers call the first three with a key of scope `workers:join`. */
export const collectionWorkerRoutes = {
  registerWorker: defineRoute({
    id: 'registerWorker',
    method: 'POST',
    path: '/control/workers/register',
    about: 'Registers a collection worker that has just started',
    access: 'workers:join',
    body: NewCollectionWorker,
    responses: theOrders,
  }),
  sendHeartbeat: defineRoute({
    id: 'sendHeartbeat',
    method: 'POST',
    path: '/control/workers/{workerId}/heartbeat',
    about: 'Reports the load of a collection worker and the state of its collections',
    access: 'workers:join',
    params: ByWorker,
    body: CollectionWorkerHeartbeat,
    responses: theOrders,
  }),
  deregisterWorker: defineRoute({
    id: 'deregisterWorker',
    method: 'POST',
    path: '/control/workers/{workerId}/deregister',
    about: 'Drains a collection worker: its collections move to others, then it may stop',
    access: 'workers:join',
    params: ByWorker,
    query: Type.Object(
      {
        incarnation: Type.Optional(
          Type.Integer({ description: 'Of the registration that ends; without it the current one, whichever it is' }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: theOrders,
  }),
  drainWorker: defineRoute({
    id: 'drainWorker',
    method: 'POST',
    path: '/control/workers/{workerId}/drain',
    about: 'Drains a collection worker for its operator: it gets no collection until it is started again',
    access: 'workers:manage',
    params: ByWorker,
    responses: { 202: { about: 'Its collections move to others', schema: CollectionWorkerView } },
  }),
  listWorkers: defineRoute({
    id: 'listWorkers',
    method: 'GET',
    path: '/control/workers',
    about: 'Lists the collection workers',
    access: 'control:read',
    responses: {
      200: { about: 'All workers', schema: Type.Object({ workers: Type.Array(CollectionWorkerView) }) },
    },
  }),
  getWorker: defineRoute({
    id: 'getWorker',
    method: 'GET',
    path: '/control/workers/{workerId}',
    about: 'Returns a collection worker',
    access: 'control:read',
    params: ByWorker,
    responses: { 200: { about: 'The worker', schema: CollectionWorkerView } },
  }),
  listWorkerAssignments: defineRoute({
    id: 'listWorkerAssignments',
    method: 'GET',
    path: '/control/workers/{workerId}/assignments',
    about: 'Lists the collections of a worker that belong to your tenant',
    access: 'control:read',
    params: ByWorker,
    responses: { 200: { about: 'Its assignments', schema: Assignments } },
  }),
  listAssignments: defineRoute({
    id: 'listAssignments',
    method: 'GET',
    path: '/control/assignments',
    about: 'Lists which collections of your tenant are served by which workers',
    access: 'control:read',
    query: Type.Object(
      {
        collection: Type.Optional(CollectionName),
        status: Type.Optional(literalUnion(assignmentStatuses)),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { about: 'All assignments', schema: Assignments } },
  }),
  getUnassignedCollections: defineRoute({
    id: 'getUnassignedCollections',
    method: 'GET',
    path: '/control/metrics/unassigned-collections',
    about: 'Counts the collections that lack a collection worker because none fits; for autoscalers',
    access: 'control:read',
    responses: {
      200: {
        about: 'Of all tenants',
        schema: Type.Object({
          count: Type.Integer(),
          pools: Type.Record(Type.String(), Type.Integer(), { description: 'The same by pool of workers' }),
        }),
      },
    },
  }),
  assignCollection: defineRoute({
    id: 'assignCollection',
    method: 'POST',
    path: '/control/assignments/assign',
    about: 'Lets a worker serve a collection, also when the balance would choose another one',
    access: 'control:write',
    body: ManualAssignment,
    responses: { 202: { about: 'The worker prepares it', schema: CollectionAssignmentView } },
  }),
  unassignCollection: defineRoute({
    id: 'unassignCollection',
    method: 'POST',
    path: '/control/assignments/unassign',
    about: 'Takes a collection from a worker; another one takes over first',
    access: 'control:write',
    body: ManualAssignment,
    responses: { 202: { about: 'It ends when another worker serves the collection' } },
  }),
};
