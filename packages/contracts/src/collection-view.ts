import Type, { type Static } from 'typebox';
import { CollectionDefinition } from './collection.js';
import { literalUnion } from './literal-union.js';

const instant = (description: string) => Type.String({ format: 'date-time', description });
const actor = (description: string) => Type.String({ description: `${description}: the id of an API key` });

const Refusals = Type.Array(
  Type.Object({
    path: Type.String({ description: 'JSON pointer into the definition' }),
    collection: Type.Optional(
      Type.String({
        description: 'Collection of the same request that is in the way; absent if it is the changed one itself',
      }),
    ),
    message: Type.String({ description: 'Why it cannot be done, and what to do' }),
    records: Type.Optional(Type.Integer({ description: 'Number of records in the way' })),
  }),
);

/** A change of a definition, and how far it is. */
export const CollectionChangeView = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    state: literalUnion(['running', 'done', 'refused']),
    fromVersion: Type.Integer(),
    step: Type.String({ description: 'What is done at the moment' }),
    recordsDone: Type.Integer(),
    recordsTotal: Type.Optional(Type.Integer()),
    refusals: Refusals,
    createdAt: instant('Time of the request'),
    createdBy: actor('Author of the change'),
    endedAt: Type.Optional(instant('Time of the end')),
  },
  { $id: 'CollectionChange' },
);
export type CollectionChangeView = Static<typeof CollectionChangeView>;

/** A collection with its current definition. */
export const CollectionView = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    version: Type.Integer({ description: 'Of the definition, from 1' }),
    definition: CollectionDefinition,
    createdAt: instant('Time of the first version'),
    createdBy: actor('Creator of the collection'),
    updatedAt: instant('Time of the current version'),
    updatedBy: actor('Creator of the current version'),
    change: Type.Optional(CollectionChangeView),
  },
  { $id: 'Collection' },
);
export type CollectionView = Static<typeof CollectionView>;

/** One version of a definition, without the definition itself. */
export const CollectionVersionView = Type.Object(
  {
    version: Type.Integer(),
    createdAt: instant('Time of the change'),
    createdBy: actor('Author of the change'),
  },
  { $id: 'CollectionVersion' },
);
export type CollectionVersionView = Static<typeof CollectionVersionView>;

const collectionActions = ['create', 'change', 'none'] as const;

/** What applying a definition would do. With a refusal nothing is done. */
export const CollectionPlan = Type.Object(
  {
    collection: Type.String(),
    action: literalUnion(collectionActions),
    fromVersion: Type.Optional(Type.Integer({ description: 'Current version; absent for a new collection' })),
    steps: Type.Array(
      Type.Object({
        about: Type.String({ description: 'What is done' }),
        field: Type.Optional(Type.String()),
        losesValues: Type.Boolean({ description: 'Whether stored values are deleted' }),
      }),
      { description: 'In the order in which they are done' },
    ),
    refusals: Refusals,
  },
  { $id: 'CollectionPlan' },
);
export type CollectionPlan = Static<typeof CollectionPlan>;

/** A path that a function of a tenant has, and a collection or a function of another application, too. */
export const RouteClash = Type.Object(
  {
    path: Type.String({ description: 'The path, with everything below it: `/api/orders`' }),
    collection: Type.Optional(
      Type.String({ description: 'Absent for paths that the records API has for all collections: `/api/operations`' }),
    ),
    application: Type.String(),
    function: Type.String(),
    route: Type.String({ description: 'Route of the function, with the prefix of its application' }),
    otherApplication: Type.Optional(
      Type.String({
        description: 'Present if a function of this application has the same route, and not a collection',
      }),
    ),
    otherFunction: Type.Optional(Type.String()),
  },
  { $id: 'RouteClash' },
);
export type RouteClash = Static<typeof RouteClash>;
