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
import { FunctionName, FunctionPatch, FunctionResponse, FunctionSpec } from '../function.js';
import { ErrorBody } from './error-body.js';
import { defineRoute } from './route.js';

const ByName = Type.Object({ name: FunctionName });
const ById = Type.Object({ executionId: ExecutionId });

const CallHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      maxLength: 255,
      pattern: '^[\\x21-\\x7e]+$',
      description: 'Calls of one function with the same key are one execution',
    }),
  ),
  'x-trace-id': Type.Optional(Type.String({ maxLength: 128, pattern: '^[\\w.:-]+$' })),
  'x-timeout-ms': Type.Optional(
    Type.Integer({ minimum: 1, maximum: 300_000, description: 'How long this caller waits; the execution goes on' }),
  ),
  traceparent: Type.Optional(Type.String({ maxLength: 512, description: 'W3C trace context' })),
});

const EnqueueHeaders = Type.Object({
  'idempotency-key': CallHeaders.properties['idempotency-key'],
  'x-trace-id': CallHeaders.properties['x-trace-id'],
  traceparent: CallHeaders.properties.traceparent,
});

const envelope = (about: string) => ({ about, schema: InvocationEnvelope });

/** Registry, calls and executions: what seed 002 asks for. */
export const functionRoutes = {
  listFunctions: defineRoute({
    id: 'listFunctions',
    method: 'GET',
    path: '/v1/functions',
    about: 'All functions of your tenant: registered ones, and those of deployed applications',
    access: 'functions:read',
    responses: { 200: { about: 'By name', schema: Type.Array(FunctionResponse) } },
  }),
  registerFunction: defineRoute({
    id: 'registerFunction',
    method: 'POST',
    path: '/v1/functions',
    about: 'Registers a function',
    access: 'functions:write',
    body: FunctionSpec,
    responses: { 201: { about: 'With every default filled in', schema: FunctionResponse } },
  }),
  getFunction: defineRoute({
    id: 'getFunction',
    method: 'GET',
    path: '/v1/functions/{name}',
    about: 'One function',
    access: 'functions:read',
    params: ByName,
    responses: { 200: { about: 'As it is now', schema: FunctionResponse } },
  }),
  patchFunction: defineRoute({
    id: 'patchFunction',
    method: 'PATCH',
    path: '/v1/functions/{name}',
    about: 'Changes what can change while it serves; anything else is refused',
    access: 'functions:write',
    params: ByName,
    body: FunctionPatch,
    responses: { 200: { about: 'As it is now', schema: FunctionResponse } },
  }),
  deleteFunction: defineRoute({
    id: 'deleteFunction',
    method: 'DELETE',
    path: '/v1/functions/{name}',
    about: 'Removes a function: no further call is taken, waiting ones end in error',
    access: 'functions:write',
    params: ByName,
    responses: { 204: { about: 'It is gone' } },
  }),
  getReplicas: defineRoute({
    id: 'getReplicas',
    method: 'GET',
    path: '/v1/functions/{name}/replicas',
    about: 'Replicas of a managed function',
    access: 'functions:read',
    params: ByName,
    responses: {
      200: {
        about: 'Wanted and ready',
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
      200: { about: 'What is wanted now', schema: Type.Object({ function: Type.String(), replicas: Type.Integer() }) },
    },
  }),
  invokeFunction: defineRoute({
    id: 'invokeFunction',
    method: 'POST',
    path: '/v1/functions/{name}:invoke',
    about: 'Calls a function and waits for its result',
    access: 'functions:invoke',
    params: ByName,
    headers: CallHeaders,
    body: InvocationBody,
    responses: {
      200: envelope('What the handler returned'),
      409: {
        about: 'It was cancelled; or, as an error, the function is being removed',
        schema: Type.Union([InvocationEnvelope, ErrorBody]),
      },
      408: envelope('No result in the time that the caller, or the function, had'),
      410: envelope('The key stands for an execution whose result is no longer kept'),
      500: envelope('The handler failed'),
      502: envelope('The endpoint failed'),
      504: envelope('The endpoint had no answer in time'),
    },
  }),
  enqueueFunction: defineRoute({
    id: 'enqueueFunction',
    method: 'POST',
    path: '/v1/functions/{name}:enqueue',
    about: 'Calls a function without waiting: what is accepted is kept until it has run',
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
    about: 'Up to a thousand calls at once; each is accepted or refused by itself',
    access: 'functions:invoke',
    params: ByName,
    body: EnqueueBatchBody,
    responses: { 202: { about: 'At least one was accepted', schema: EnqueueBatchResult } },
  }),
  listExecutions: defineRoute({
    id: 'listExecutions',
    method: 'GET',
    path: '/v1/executions',
    about: 'Executions of your tenant, newest first',
    access: 'functions:read',
    query: ExecutionQuery,
    responses: { 200: { about: 'One page', schema: ExecutionPage } },
  }),
  getExecution: defineRoute({
    id: 'getExecution',
    method: 'GET',
    path: '/v1/executions/{executionId}',
    about: 'State and result of one execution',
    access: 'functions:read',
    params: ById,
    responses: { 200: { about: 'As it is now', schema: ExecutionStatus } },
  }),
  cancelExecution: defineRoute({
    id: 'cancelExecution',
    method: 'POST',
    path: '/v1/executions/{executionId}:cancel',
    about: 'Ends an execution that has not ended',
    access: 'functions:invoke',
    params: ById,
    responses: { 200: { about: 'Cancelled', schema: ExecutionStatus } },
  }),
  replayExecution: defineRoute({
    id: 'replayExecution',
    method: 'POST',
    path: '/v1/executions/{executionId}:replay',
    about: 'Runs an execution that failed again, as a new one with the same input',
    access: 'functions:invoke',
    params: ById,
    responses: { 202: { about: 'Accepted', schema: AcceptedExecution } },
  }),
  listDeadLetters: defineRoute({
    id: 'listDeadLetters',
    method: 'GET',
    path: '/v1/dead-letters',
    about: 'Executions that failed for good and nobody has redriven, newest first',
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
    about: 'Runs dead letters again: those named, or the oldest of a function',
    access: 'functions:invoke',
    body: Type.Object(
      {
        executionIds: Type.Optional(Type.Array(ExecutionId, { minItems: 1, maxItems: 1_000 })),
        function: ExecutionQuery.properties.function,
        limit: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 1_000, description: 'Of the oldest of a function; 100 unless told' }),
        ),
      },
      { additionalProperties: false, minProperties: 1 },
    ),
    responses: {
      202: {
        about: 'One entry for each that was found',
        schema: Type.Object({
          redriven: Type.Integer(),
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
  completeExecution: defineRoute({
    id: 'completeExecution',
    method: 'POST',
    path: '/v1/internal/executions/{executionId}:complete',
    about: 'A runtime hands its result back; `X-Dispatch-Attempt` says of which attempt',
    access: 'functions:invoke',
    params: ById,
    headers: Type.Object({ 'x-dispatch-attempt': Type.Optional(Type.Integer({ minimum: 1 })) }),
    body: CompletionBody,
    responses: { 204: { about: 'Taken, or too late to matter' } },
  }),
  callOpenFaas: defineRoute({
    id: 'callOpenFaas',
    method: 'POST',
    path: '/function/{name}',
    about: 'As `:invoke`, in the manner of OpenFaaS: the body is the input, the answer is the output',
    access: 'functions:invoke',
    params: ByName,
    body: Type.Unknown(),
    responses: { 200: { about: 'The output as it is', schema: Type.Unknown() } },
  }),
  enqueueOpenFaas: defineRoute({
    id: 'enqueueOpenFaas',
    method: 'POST',
    path: '/async-function/{name}',
    about: 'As `:enqueue`, in the manner of OpenFaaS; the result goes to `X-Callback-Url`',
    access: 'functions:invoke',
    params: ByName,
    headers: Type.Object({ 'x-callback-url': Type.Optional(Type.String({ maxLength: 2_048 })) }),
    body: Type.Unknown(),
    responses: { 202: { about: 'Accepted; `X-Call-Id` names it' } },
  }),
};
