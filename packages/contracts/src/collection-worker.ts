import Type, { type Static } from 'typebox';
import { CollectionName } from './collection.js';
import { literalUnion } from './literal-union.js';

/** States of a collection worker. OFFLINE: its heartbeats have stopped; FAILED: it said that it cannot serve. */
export const collectionWorkerStatuses = ['STARTING', 'READY', 'DRAINING', 'OFFLINE', 'FAILED'] as const;
export type CollectionWorkerStatus = (typeof collectionWorkerStatuses)[number];

/** States of one collection on one worker. */
export const assignmentStatuses = ['PENDING', 'INITIALIZING', 'READY', 'DRAINING', 'REMOVED'] as const;
export type AssignmentStatus = (typeof assignmentStatuses)[number];

const instant = (description: string) => Type.String({ format: 'date-time', description });
const WorkerId = Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' });
const Pool = Type.String({ minLength: 1, maxLength: 50, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' });
const Labels = Type.Record(Type.String({ maxLength: 63 }), Type.String({ maxLength: 253 }), { maxProperties: 50 });

/** What a worker says of itself when it starts. Another process that registers with the same id has nothing of what the first served. */
export const NewCollectionWorker = Type.Object(
  {
    workerId: WorkerId,
    baseUrl: Type.String({ maxLength: 500, format: 'uri', description: 'Where gateways send its requests' }),
    podName: Type.Optional(Type.String({ maxLength: 253 })),
    namespace: Type.Optional(Type.String({ maxLength: 63 })),
    pool: Type.Optional(Pool),
    capacity: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, description: 'Most collections at a time' })),
    tenantAffinity: Type.Optional(
      Type.String({ maxLength: 36, description: 'Serves collections of this tenant only' }),
    ),
    zone: Type.Optional(
      Type.String({ maxLength: 63, description: 'Replicas of a collection are put in different ones' }),
    ),
    labels: Type.Optional(Labels),
    processToken: Type.Optional(
      Type.String({
        minLength: 8,
        maxLength: 100,
        description:
          'Made by the process at its start. A process that registers again with the same one keeps its registration: a repeated or late call changes nothing.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type NewCollectionWorker = Static<typeof NewCollectionWorker>;

/** One collection that a worker is to serve, or to stop serving. */
export const WorkerAssignment = Type.Object({
  collectionId: Type.String({ format: 'uuid' }),
  tenantId: Type.String(),
  collection: CollectionName,
  status: literalUnion(assignmentStatuses),
  generation: Type.Integer({ description: 'Of the assignment; a report about an earlier one is ignored' }),
});
export type WorkerAssignment = Static<typeof WorkerAssignment>;

const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const amount = (description: string) => Type.Number({ minimum: 0, description });

export const CollectionWorkerHeartbeat = Type.Object(
  {
    incarnation: Type.Integer({ description: 'Of the registration: heartbeats of an earlier one are refused' }),
    status: literalUnion(['STARTING', 'READY', 'DRAINING', 'OVERLOADED', 'FAILED']),
    load: Type.Object({
      cpu: amount('CPU milliseconds per second'),
      activeConnections: amount('Open connections'),
      requestRate: amount('Requests per second'),
      latencyMs: amount('Mean time of a request'),
      errorRate: share('Part of the requests that ended with a 5xx status'),
      memoryBytes: amount('Resident memory'),
    }),
    collections: Type.Array(
      Type.Object({
        collectionId: Type.String({ format: 'uuid' }),
        generation: Type.Integer({ description: 'Of the assignment that the report is about' }),
        status: literalUnion(['INITIALIZING', 'READY', 'DRAINING', 'REMOVED']),
        cpu: amount('CPU milliseconds per second, by its part of the time of all requests'),
        requestRate: amount('Requests per second'),
        errorRate: share('Part of its requests that ended with a 5xx status'),
        problem: Type.Optional(Type.String({ maxLength: 1_000, description: 'Why it cannot be served yet' })),
      }),
      { maxItems: 100_000 },
    ),
  },
  { additionalProperties: false },
);
export type CollectionWorkerHeartbeat = Static<typeof CollectionWorkerHeartbeat>;

/** The answer to a registration and to a heartbeat: everything that the worker is to serve now. */
export const WorkerOrders = Type.Object({
  incarnation: Type.Integer({ description: 'Number of this registration; every heartbeat carries it' }),
  heartbeatMs: Type.Integer({ description: 'When the next heartbeat is due at the latest' }),
  assignments: Type.Array(WorkerAssignment),
});
export type WorkerOrders = Static<typeof WorkerOrders>;

/** A worker as the API shows it. */
export const CollectionWorkerView = Type.Object(
  {
    id: Type.String(),
    status: literalUnion(collectionWorkerStatuses),
    isOverloaded: Type.Boolean({ description: 'Its CPU is used up: it said OVERLOADED in its last heartbeat' }),
    baseUrl: Type.String(),
    podName: Type.Optional(Type.String()),
    namespace: Type.Optional(Type.String()),
    pool: Type.String(),
    capacity: Type.Integer(),
    currentLoad: Type.Integer({ description: 'Collections that it serves or is about to' }),
    tenantAffinity: Type.Optional(Type.String()),
    zone: Type.Optional(Type.String()),
    labels: Labels,
    heartbeat: Type.Optional(CollectionWorkerHeartbeat.properties.load),
    lastHeartbeat: Type.Optional(instant('When the last heartbeat came')),
    createdAt: instant('When it registered first'),
  },
  { $id: 'CollectionWorker' },
);
export type CollectionWorkerView = Static<typeof CollectionWorkerView>;

/** An assignment as the API shows it. */
export const CollectionAssignmentView = Type.Object(
  {
    collectionId: Type.String({ format: 'uuid' }),
    collection: CollectionName,
    tenantId: Type.String(),
    workerId: Type.String(),
    status: literalUnion(assignmentStatuses),
    generation: Type.Integer(),
    replaces: Type.Optional(Type.String({ description: 'The worker that it takes over from' })),
    manual: Type.Boolean({ description: 'Made by hand: rebalancing leaves it where it is' }),
    problem: Type.Optional(Type.String()),
    assignedAt: instant('When the control plane decided it'),
    readyAt: Type.Optional(instant('When the worker was ready to serve it')),
  },
  { $id: 'CollectionAssignment' },
);
export type CollectionAssignmentView = Static<typeof CollectionAssignmentView>;

/** Where a collection is served: what gateways need to know. */
export const CollectionRoute = Type.Object({
  collectionId: Type.String(),
  tenantId: Type.String(),
  name: Type.String(),
  generation: Type.Integer(),
  endpoints: Type.Array(
    Type.Object({ workerId: Type.String(), url: Type.String(), zone: Type.Optional(Type.String()) }),
  ),
});
export type CollectionRoute = Static<typeof CollectionRoute>;
