import Type from 'typebox';
import { CollectionDefinition, CollectionName, FieldDefinition, FieldName } from '../collection.js';
import { CollectionChangeView, CollectionPlan, CollectionVersionView, CollectionView } from '../collection-view.js';
import { defineRoute } from './route.js';

const ByCollection = Type.Object({ collection: CollectionName });
const ByVersion = Type.Object({ collection: CollectionName, version: Type.Integer({ minimum: 1, maximum: 2 ** 31 }) });
const ByField = Type.Object({ collection: CollectionName, field: FieldName });
/** Checking all records and building indexes can take longer than a request may. */
const stillRunning = { about: 'The change goes on; `change` says how far it is', schema: CollectionView };
const theCollection = {
  200: { about: 'The collection in its new version', schema: CollectionView },
  202: stillRunning,
};

/** Without it the last of two changes made at the same time wins. */
const ExpectedVersion = Type.Object(
  {
    expectedVersion: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The change is refused with 409 if another version is current' }),
    ),
  },
  { additionalProperties: false },
);

const Changes = Type.Object(
  Object.fromEntries(
    Object.entries(CollectionDefinition.properties).map(([name, schema]) => [
      name,
      Type.Optional(Type.Union([schema, Type.Null()])),
    ]),
  ),
  { additionalProperties: false },
);

const CollectionSet = Type.Object(
  {
    collections: Type.Array(CollectionDefinition, { minItems: 1, maxItems: 200 }),
  },
  { additionalProperties: false },
);

const AppliedSet = Type.Object({
  plans: Type.Array(CollectionPlan),
  collections: Type.Array(CollectionView),
});

/** Definitions of collections. Keys limited to collections (`collections:define:orders`) see and change only these. */
export const collectionRoutes = {
  listCollections: defineRoute({
    id: 'listCollections',
    method: 'GET',
    path: '/control/collections',
    about: 'Lists the collections of your tenant, ordered by name',
    access: 'collections:define',
    query: Type.Object(
      {
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
        after: Type.Optional(
          Type.String({ minLength: 1, maxLength: 63, description: '`next` of the previous page: a name' }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: {
      200: {
        about: 'One page',
        schema: Type.Object({ collections: Type.Array(CollectionView), next: Type.Optional(Type.String()) }),
      },
    },
  }),
  createCollection: defineRoute({
    id: 'createCollection',
    method: 'POST',
    path: '/control/collections',
    about: 'Defines a collection; its records are served at `/api/{collection}` at once',
    access: 'collections:define',
    body: CollectionDefinition,
    bodyCheck: 'by-handler',
    responses: { 201: { about: 'The collection', schema: CollectionView } },
  }),
  applyCollections: defineRoute({
    id: 'applyCollections',
    method: 'PUT',
    path: '/control/collections',
    about:
      'Creates or changes several collections, which may refer to each other: all of them or, if any is refused, none. A definition with `formerName` renames a collection',
    access: 'collections:define',
    body: CollectionSet,
    bodyCheck: 'by-handler',
    responses: {
      200: { about: 'What was done, and the collections', schema: AppliedSet },
      202: {
        about:
          'Changes go on; `change` of a collection says how far. New collections are created when all changes are prepared',
        schema: AppliedSet,
      },
    },
  }),
  planCollections: defineRoute({
    id: 'planCollections',
    method: 'POST',
    path: '/control/collections/plan',
    about: 'Says what `PUT /control/collections` with the same body would do, and does nothing',
    access: 'collections:define',
    body: CollectionSet,
    bodyCheck: 'by-handler',
    responses: {
      200: { about: 'One plan for each collection', schema: Type.Object({ plans: Type.Array(CollectionPlan) }) },
    },
  }),
  getCollection: defineRoute({
    id: 'getCollection',
    method: 'GET',
    path: '/control/collections/{collection}',
    about: 'Returns a collection with its current definition',
    access: 'collections:define',
    params: ByCollection,
    responses: { 200: { about: 'The collection', schema: CollectionView } },
  }),
  replaceCollection: defineRoute({
    id: 'replaceCollection',
    method: 'PUT',
    path: '/control/collections/{collection}',
    about:
      'Changes a collection to this definition while its records are served; refused if records are in the way. Another `name` renames it',
    access: 'collections:define',
    params: ByCollection,
    query: ExpectedVersion,
    body: CollectionDefinition,
    bodyCheck: 'by-handler',
    responses: theCollection,
  }),
  patchCollection: defineRoute({
    id: 'patchCollection',
    method: 'PATCH',
    path: '/control/collections/{collection}',
    about: 'Replaces single properties of a definition; null removes one. Another `name` renames the collection',
    access: 'collections:define',
    params: ByCollection,
    query: ExpectedVersion,
    body: Changes,
    bodyCheck: 'by-handler',
    responses: theCollection,
  }),
  deleteCollection: defineRoute({
    id: 'deleteCollection',
    method: 'DELETE',
    path: '/control/collections/{collection}',
    about: 'Deletes a collection with all of its records; refused while another collection refers to it',
    access: 'collections:define',
    params: ByCollection,
    query: ExpectedVersion,
    responses: { 204: { about: 'The collection is deleted' } },
  }),
  listCollectionVersions: defineRoute({
    id: 'listCollectionVersions',
    method: 'GET',
    path: '/control/collections/{collection}/versions',
    about: 'Lists the versions of a definition with time and author, newest first',
    access: 'collections:define',
    params: ByCollection,
    responses: {
      200: { about: 'All versions', schema: Type.Object({ versions: Type.Array(CollectionVersionView) }) },
    },
  }),
  getCollectionVersion: defineRoute({
    id: 'getCollectionVersion',
    method: 'GET',
    path: '/control/collections/{collection}/versions/{version}',
    about: 'Returns the definition of a version',
    access: 'collections:define',
    params: ByVersion,
    responses: {
      200: {
        about: 'The version with its definition',
        schema: Type.Object({ ...CollectionVersionView.properties, definition: CollectionDefinition }),
      },
    },
  }),
  listCollectionChanges: defineRoute({
    id: 'listCollectionChanges',
    method: 'GET',
    path: '/control/collections/{collection}/changes',
    about: 'Lists the last changes of a collection with their progress, newest first',
    access: 'collections:define',
    params: ByCollection,
    responses: { 200: { about: 'The changes', schema: Type.Object({ changes: Type.Array(CollectionChangeView) }) } },
  }),
  addField: defineRoute({
    id: 'addField',
    method: 'POST',
    path: '/control/collections/{collection}/fields',
    about: 'Adds a field to a collection',
    access: 'collections:define',
    params: ByCollection,
    query: ExpectedVersion,
    body: FieldDefinition,
    bodyCheck: 'by-handler',
    responses: {
      201: { about: 'The collection in its new version', schema: CollectionView },
      202: stillRunning,
    },
  }),
  replaceField: defineRoute({
    id: 'replaceField',
    method: 'PUT',
    path: '/control/collections/{collection}/fields/{field}',
    about: 'Changes a field of a collection; another `name` in the body renames it',
    access: 'collections:define',
    params: ByField,
    query: ExpectedVersion,
    body: FieldDefinition,
    bodyCheck: 'by-handler',
    responses: theCollection,
  }),
  removeField: defineRoute({
    id: 'removeField',
    method: 'DELETE',
    path: '/control/collections/{collection}/fields/{field}',
    about: 'Removes a field with the values that records have of it',
    access: 'collections:define',
    params: ByField,
    query: ExpectedVersion,
    responses: theCollection,
  }),
};
