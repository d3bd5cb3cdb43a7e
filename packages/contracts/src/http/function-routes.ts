import Type from 'typebox';
import {
  AcceptedExecution,
  CompletionBody,
  EnqueueBatchBody,
  EnqueueBatchResult,
  EnqueueBody,
  ExecutionId,
  ExecutionPage,
  ExecutionQuery,
  ExecutionStatus,
  InvocationBody,
  InvocationEnvelope,
} from '../execution.js';
import {
  FunctionName,
  FunctionPatch,
  FunctionQueueStatus,
  FunctionReplacement,
  FunctionResponse,
  FunctionSpec,
} from '../function.js';
import { literalUnion } from '../literal-union.js';
import { ErrorBody } from './error-body.js';
import { functionQueueRoutes } from './function-queue-routes.js';
import { defineRoute } from './route.js';

const ByName = Type.Object({ name: FunctionName });
const ById = Type.Object({ executionId: ExecutionId });

const CallHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      maxLength: 255,
      pattern: '^[\\x21-\\x7e]+$',
      description: 'Calls of a function with the same key are one execution',
    }),
  ),
  'x-concurrency-key': Type.Optional(
    Type.String({
      maxLength: 255,
      pattern: '^[\\x21-\\x7e]+$',
      description:
        'Calls of a function with the same key run one after the other; `concurrencyKey` in the body goes first',
    }),
  ),
  'x-trace-id': Type.Optional(Type.String({ maxLength: 128, pattern: '^[\\w.:-]+$' })),
  'x-timeout-ms': Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 300_000,
      description: 'How long the caller waits; the execution continues after it',
    }),
  ),
  traceparent: Type.Optional(Type.String({ maxLength: 512, description: 'W3C trace context' })),
});

const EnqueueHeaders = Type.Object({
  'idempotency-key': CallHeaders.properties['idempotency-key'],
  'x-concurrency-key': CallHeaders.properties['x-concurrency-key'],
  'x-trace-id': CallHeaders.properties['x-trace-id'],
  traceparent: CallHeaders.properties.traceparent,
});

const envelope = (about: string) => ({ about, schema: InvocationEnvelope });

/** Registry, calls and executions of functions. */
export const functionRoutes = {
  ...functionQueueRoutes,
  listFunctions: defineRoute({
    id: 'listFunctions',
    method: 'GET',
    path: '/v1/functions',
    about: 'Lists the functions of your tenant, ordered by name: registered ones and those of deployed applications',
    access: 'functions:read',
    query: Type.Object(
      {
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: 1_000,
            description: 'Functions of one page; all of them if it is absent',
          }),
        ),
        after: Type.Optional(
          Type.String({ ...FunctionName, description: 'Name of the last function of the previous page' }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: {
      200: {
        about: 'One page, or all functions. The last page has fewer than `limit`',
        schema: Type.Array(FunctionResponse),
      },
    },
  }),
  registerFunction: defineRoute({
    id: 'registerFunction',
    method: 'POST',
    path: '/v1/functions',
    about:
      'Registers a function. One that runs a program (command or runtimeCommand in mode REMOTE) needs the scope functions:commands, too',
    access: 'functions:write',
    body: FunctionSpec,
    responses: { 201: { about: 'The function, with all defaults filled in', schema: FunctionResponse } },
  }),
  getFunction: defineRoute({
    id: 'getFunction',
    method: 'GET',
    path: '/v1/functions/{name}',
    about: 'Returns a function',
    access: 'functions:read',
    params: ByName,
    responses: { 200: { about: 'The function', schema: FunctionResponse } },
  }),
  patchFunction: defineRoute({
    id: 'patchFunction',
    method: 'PATCH',
    path: '/v1/functions/{name}',
    about:
      'Changes properties of a function in place; its queue stays, and attempts that start later use the new properties',
    access: 'functions:write',
    params: ByName,
    body: FunctionPatch,
    responses: { 200: { about: 'The function', schema: FunctionResponse } },
  }),
  replaceFunction: defineRoute({
    id: 'replaceFunction',
    method: 'PUT',
    path: '/v1/functions/{name}',
    about: 'Replaces the specification of a function in place, which keeps its queue, or registers the function',
    access: 'functions:write',
    params: ByName,
    body: FunctionReplacement,
    responses: {
      200: { about: 'The function was replaced', schema: FunctionResponse },
      201: { about: 'The function was registered', schema: FunctionResponse },
    },
  }),
  deleteFunction: defineRoute({
    id: 'deleteFunction',
    method: 'DELETE',
    path: '/v1/functions/{name}',
    about: 'Removes a function. If calls wait in its queue, `queue` decides about them; without it the answer is 409',
    access: 'functions:write',
    params: ByName,
    query: Type.Object(
      {
        queue: Type.Optional(
          literalUnion(['drain', 'purge'], {
            description:
              'drain: calls that wait run first, then the function is removed. purge: calls that wait are cancelled',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: {
      202: {
        about: 'The function accepts no calls and is removed when its queue is empty',
        schema: FunctionQueueStatus,
      },
      204: { about: 'The function is removed' },
    },
  }),
  getReplicas: defineRoute({
    id: 'getReplicas',
    method: 'GET',
    path: '/v1/functions/{name}/replicas',
    about: 'Returns the replicas of a managed function',
    access: 'functions:read',
    params: ByName,
    responses: {
      200: {
        about: 'Desired and ready replicas',
        schema: Type.Object({ name: Type.String(), desiredReplicas: Type.Integer(), readyReplicas: Type.Integer() }),
      },
    },
  }),
  setReplicas: defineRoute({
    id: 'setReplicas',
    method: 'PUT',
    path: '/v1/functions/{name}/replicas',
    about: 'Sets the replicas of a managed function',
    access: 'functions:write',
    params: ByName,
    body: Type.Object({ replicas: Type.Integer({ minimum: 0, maximum: 10_000 }) }, { additionalProperties: false }),
    responses: {
      200: {
        about: 'The desired replicas',
        schema: Type.Object({ function: Type.String(), replicas: Type.Integer() }),
      },
    },
  }),
  invokeFunction: defineRoute({
    id: 'invokeFunction',
    method: 'POST',
    path: '/v1/functions/{name}:invoke',
    about: 'Calls a function and waits for the result',
    access: 'functions:invoke',
    params: ByName,
    headers: CallHeaders,
    body: InvocationBody,
    responses: {
      200: envelope('Output of the handler'),
      409: {
        about: 'The execution was cancelled; or, as an error, the function is being removed',
        schema: Type.Union([InvocationEnvelope, ErrorBody]),
      },
      408: envelope('No result within the time limit of the caller or the function'),
      410: envelope('The result of the execution with this idempotency key was evicted'),
      500: envelope('The handler failed'),
      502: envelope('The endpoint failed'),
      504: envelope('The endpoint did not respond in time'),
    },
  }),
  enqueueFunction: defineRoute({
    id: 'enqueueFunction',
    method: 'POST',
    path: '/v1/functions/{name}:enqueue',
    about: 'Calls a function asynchronously; an accepted call is durable until it has run',
    access: 'functions:invoke',
    params: ByName,
    headers: EnqueueHeaders,
    body: EnqueueBody,
    responses: { 202: { about: 'Accepted', schema: AcceptedExecution } },
  }),
  enqueueBatch: defineRoute({
    id: 'enqueueBatch',
    method: 'POST',
    path: '/v1/functions/{name}:enqueue-batch',
    about: 'Calls a function asynchronously, up to a thousand times; each item is accepted or rejected on its own',
    access: 'functions:invoke',
    params: ByName,
    body: EnqueueBatchBody,
    responses: { 202: { about: 'At least one item was accepted', schema: EnqueueBatchResult } },
  }),
  listExecutions: defineRoute({
    id: 'listExecutions',
    method: 'GET',
    path: '/v1/executions',
    about: 'Lists the executions of your tenant, newest first',
    access: 'functions:read',
    query: ExecutionQuery,
    responses: { 200: { about: 'One page', schema: ExecutionPage } },
  }),
  getExecution: defineRoute({
    id: 'getExecution',
    method: 'GET',
    path: '/v1/executions/{executionId}',
    about: 'Returns state and result of an execution',
    access: 'functions:read',
    params: ById,
    responses: { 200: { about: 'The execution', schema: ExecutionStatus } },
  }),
  cancelExecution: defineRoute({
    id: 'cancelExecution',
    method: 'POST',
    path: '/v1/executions/{executionId}:cancel',
    about: 'Cancels an execution that has not ended',
    access: 'functions:invoke',
    params: ById,
    responses: { 200: { about: 'The cancelled execution', schema: ExecutionStatus } },
  }),
  replayExecution: defineRoute({
    id: 'replayExecution',
    method: 'POST',
    path: '/v1/executions/{executionId}:replay',
    about: 'Runs a failed execution again, as a new execution with the same input',
    access: 'functions:invoke',
    params: ById,
    responses: { 202: { about: 'Accepted', schema: AcceptedExecution } },
  }),
  completeExecution: defineRoute({
    id: 'completeExecution',
    method: 'POST',
    path: '/v1/internal/executions/{executionId}:complete',
    about: 'Reports the result of a dispatched attempt; `X-Dispatch-Attempt` names the attempt',
    access: 'functions:invoke',
    params: ById,
    headers: Type.Object({ 'x-dispatch-attempt': Type.Integer({ minimum: 1 }) }),
    body: CompletionBody,
    responses: { 204: { about: 'The result was recorded, or the execution had already ended' } },
  }),
  callOpenFaas: defineRoute({
    id: 'callOpenFaas',
    method: 'POST',
    path: '/function/{name}',
    about: 'Calls a function as OpenFaaS does: the request body is the input, the response body is the output',
    access: 'functions:invoke',
    params: ByName,
    body: Type.Unknown(),
    responses: { 200: { about: 'Output of the handler', schema: Type.Unknown() } },
  }),
  enqueueOpenFaas: defineRoute({
    id: 'enqueueOpenFaas',
    method: 'POST',
    path: '/async-function/{name}',
    about: 'Calls a function asynchronously as OpenFaaS does; the result is posted to `X-Callback-Url`',
    access: 'functions:invoke',
    params: ByName,
    headers: Type.Object({ 'x-callback-url': Type.Optional(Type.String({ maxLength: 2_048 })) }),
    body: Type.Unknown(),
    responses: { 202: { about: 'Accepted; `X-Call-Id` is the id of the execution' } },
  }),
};
