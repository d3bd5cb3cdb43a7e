import Type, { type Static } from 'typebox';
import { PicklistDefinition } from '../collection.js';
import { defineRoute } from './route.js';

/** A picklist, and the fields that take their values from it. */
export const PicklistView = Type.Object(
  {
    ...PicklistDefinition.properties,
    version: Type.Integer({ description: 'Grows with every change, from 1' }),
    usedBy: Type.Array(Type.Object({ collection: Type.String(), field: Type.String() })),
    updatedAt: Type.String({ format: 'date-time' }),
    updatedBy: Type.String({ description: 'Author of the last change: the id of an API key' }),
  },
  { $id: 'Picklist' },
);
export type PicklistView = Static<typeof PicklistView>;

const ByPicklist = Type.Object({ picklist: PicklistDefinition.properties.name });

/** Values that fields of many collections share (`"picklist": "countries"`). */
export const picklistRoutes = {
  listPicklists: defineRoute({
    id: 'listPicklists',
    method: 'GET',
    path: '/control/picklists',
    about: 'Lists the picklists of your tenant, ordered by name',
    access: 'collections:define',
    responses: { 200: { about: 'All picklists', schema: Type.Object({ picklists: Type.Array(PicklistView) }) } },
  }),
  getPicklist: defineRoute({
    id: 'getPicklist',
    method: 'GET',
    path: '/control/picklists/{picklist}',
    about: 'Returns a picklist with the fields that use it',
    access: 'collections:define',
    params: ByPicklist,
    responses: { 200: { about: 'The picklist', schema: PicklistView } },
  }),
  putPicklist: defineRoute({
    id: 'putPicklist',
    method: 'PUT',
    path: '/control/picklists/{picklist}',
    about:
      'Creates or changes a picklist, and all fields that use it, in one moment; refused if records have a value that is removed',
    access: 'collections:define',
    params: ByPicklist,
    body: PicklistDefinition,
    bodyCheck: 'by-handler',
    responses: {
      200: { about: 'The picklist with its new values', schema: PicklistView },
      202: {
        about: 'The change goes on: records are still checked. The picklist as it was before',
        schema: PicklistView,
      },
    },
  }),
  deletePicklist: defineRoute({
    id: 'deletePicklist',
    method: 'DELETE',
    path: '/control/picklists/{picklist}',
    about: 'Deletes a picklist; refused while a field uses it',
    access: 'collections:define',
    params: ByPicklist,
    responses: { 204: { about: 'The picklist is deleted' } },
  }),
};
