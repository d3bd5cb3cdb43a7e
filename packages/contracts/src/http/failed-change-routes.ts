import Type from 'typebox';
import {
  ByFailedChange,
  FailedChangeQuery,
  FailedChangesChosen,
  FailedChangeView,
  ShownFailedChange,
} from '../failed-change.js';
import { defineRoute } from './route.js';

/** Changes of records that functions gave up. They are kept for a month, also when the change itself is gone. */
export const failedChangeRoutes = {
  listFailedChanges: defineRoute({
    id: 'listFailedChanges',
    method: 'GET',
    path: '/control/failed-changes',
    about: 'Lists the changes that functions with a collectionTrigger gave up, the newest first',
    access: 'records:read',
    query: FailedChangeQuery,
    responses: {
      200: {
        about: 'One page; `next` is `before` of the page after it',
        schema: Type.Object({ failedChanges: Type.Array(FailedChangeView), next: Type.Optional(Type.String()) }),
      },
    },
  }),
  getFailedChange: defineRoute({
    id: 'getFailedChange',
    method: 'GET',
    path: '/control/failed-changes/{failedChangeId}',
    about: 'Returns a change that a function gave up',
    access: 'records:read',
    params: ByFailedChange,
    responses: { 200: { about: 'With the record before and after', schema: ShownFailedChange } },
  }),
  replayFailedChanges: defineRoute({
    id: 'replayFailedChanges',
    method: 'POST',
    path: '/control/failed-changes:replay',
    about:
      'Runs the functions again for changes that they gave up. A change is removed when its function has run for it',
    access: 'records:write',
    body: FailedChangesChosen,
    responses: {
      202: { about: 'How many will be delivered again', schema: Type.Object({ replaying: Type.Integer() }) },
    },
  }),
  dropFailedChanges: defineRoute({
    id: 'dropFailedChanges',
    method: 'POST',
    path: '/control/failed-changes:drop',
    about: 'Removes changes that functions gave up: no function runs for them any more',
    access: 'records:write',
    body: FailedChangesChosen,
    responses: { 200: { about: 'How many were removed', schema: Type.Object({ dropped: Type.Integer() }) } },
  }),
};
