import Type from 'typebox';
import { CallbackSecret, CreatedCallbackSecret, NewCallbackSecret } from '../callback-secret.js';
import { DeadLetterSelection, ExecutionId, ExecutionPage, ExecutionQuery } from '../execution.js';
import { FunctionName, FunctionQueueStatus } from '../function.js';
import { defineRoute } from './route.js';

const ByName = Type.Object({ name: FunctionName });
const ById = Type.Object({ executionId: ExecutionId });
const queueStatus = { 200: { about: 'The queue', schema: FunctionQueueStatus } };

/** Queues of functions, dead letters, and the secrets of callbacks: what operators of functions do. */
export const functionQueueRoutes = {
  getFunctionQueue: defineRoute({
    id: 'getFunctionQueue',
    method: 'GET',
    path: '/v1/functions/{name}/queue',
    about: 'Returns the state of the queue of a function, and how many calls it holds',
    access: 'functions:read',
    params: ByName,
    responses: queueStatus,
  }),
  pauseFunctionQueue: defineRoute({
    id: 'pauseFunctionQueue',
    method: 'POST',
    path: '/v1/functions/{name}/queue:pause',
    about: 'Starts no more attempts of a function; asynchronous calls are accepted and wait',
    access: 'functions:write',
    params: ByName,
    responses: queueStatus,
  }),
  resumeFunctionQueue: defineRoute({
    id: 'resumeFunctionQueue',
    method: 'POST',
    path: '/v1/functions/{name}/queue:resume',
    about: 'Opens the queue of a function again; ends a pause, a drain, and a removal that waits for the drain',
    access: 'functions:write',
    params: ByName,
    responses: queueStatus,
  }),
  drainFunctionQueue: defineRoute({
    id: 'drainFunctionQueue',
    method: 'POST',
    path: '/v1/functions/{name}/queue:drain',
    about: 'Accepts no more calls of a function; calls that wait run. Open the queue again with `:resume`',
    access: 'functions:write',
    params: ByName,
    responses: queueStatus,
  }),
  purgeFunctionQueue: defineRoute({
    id: 'purgeFunctionQueue',
    method: 'POST',
    path: '/v1/functions/{name}/queue:purge',
    about: 'Cancels every call of a function that waits; attempts that run go on',
    access: 'functions:write',
    params: ByName,
    responses: {
      200: {
        about: 'The cancelled calls',
        schema: Type.Object({ function: Type.String(), purged: Type.Integer() }),
      },
    },
  }),
  listDeadLetters: defineRoute({
    id: 'listDeadLetters',
    method: 'GET',
    path: '/v1/dead-letters',
    about: 'Lists the executions that failed permanently and were not redriven, newest first',
    access: 'functions:read',
    query: Type.Object(
      {
        function: ExecutionQuery.properties.function,
        limit: ExecutionQuery.properties.limit,
        after: ExecutionQuery.properties.after,
      },
      { additionalProperties: false },
    ),
    responses: { 200: { about: 'One page', schema: ExecutionPage } },
  }),
  redriveDeadLetters: defineRoute({
    id: 'redriveDeadLetters',
    method: 'POST',
    path: '/v1/dead-letters:redrive',
    about: 'Runs dead letters again: the given ones, or those that match, the oldest first',
    access: 'functions:invoke',
    body: DeadLetterSelection,
    responses: {
      202: {
        about: 'One item per dead letter that was found',
        schema: Type.Object({
          redriven: Type.Integer(),
          remaining: Type.Integer({ description: 'Dead letters that match and were not redriven; repeat the request' }),
          items: Type.Array(
            Type.Object({
              executionId: ExecutionId,
              redrivenAs: Type.Optional(ExecutionId),
              error: Type.Optional(Type.String()),
            }),
          ),
        }),
      },
    },
  }),
  deleteDeadLetter: defineRoute({
    id: 'deleteDeadLetter',
    method: 'DELETE',
    path: '/v1/dead-letters/{executionId}',
    about: 'Deletes a dead letter',
    access: 'functions:write',
    params: ById,
    responses: { 204: { about: 'The dead letter is deleted' } },
  }),
  deleteDeadLetters: defineRoute({
    id: 'deleteDeadLetters',
    method: 'POST',
    path: '/v1/dead-letters:delete',
    about: 'Deletes dead letters: the given ones, or those that match',
    access: 'functions:write',
    body: DeadLetterSelection,
    responses: {
      200: {
        about: 'How many were deleted',
        schema: Type.Object({ deleted: Type.Integer(), remaining: Type.Integer() }),
      },
    },
  }),
  listCallbackSecrets: defineRoute({
    id: 'listCallbackSecrets',
    method: 'GET',
    path: '/v1/callback-secrets',
    about: 'Lists the secrets that sign callbacks of your tenant, newest first, without their values',
    access: 'functions:read',
    responses: { 200: { about: 'The secrets', schema: Type.Object({ secrets: Type.Array(CallbackSecret) }) } },
  }),
  createCallbackSecret: defineRoute({
    id: 'createCallbackSecret',
    method: 'POST',
    path: '/v1/callback-secrets',
    about: 'Creates a secret that signs callbacks, for one function or for all; replaces the former one after a time',
    access: 'functions:write',
    body: NewCallbackSecret,
    responses: { 201: { about: 'The secret; its value is shown only once', schema: CreatedCallbackSecret } },
  }),
  deleteCallbackSecret: defineRoute({
    id: 'deleteCallbackSecret',
    method: 'DELETE',
    path: '/v1/callback-secrets/{secretId}',
    about: 'Deletes a secret; nothing is signed with it from then on',
    access: 'functions:write',
    params: Type.Object({ secretId: Type.String({ maxLength: 64, pattern: '^[0-9a-f-]+$' }) }),
    responses: { 204: { about: 'The secret is deleted' } },
  }),
};
