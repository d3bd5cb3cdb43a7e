import Type, { type Static } from 'typebox';
import { FunctionName } from './function.js';
import { literalUnion } from './literal-union.js';
import { defineStates } from './states/define-states.js';

/**
 * - queued: accepted; waits for a free slot, for its start time, or for its next attempt
 * - running: an attempt is in progress
 * - success: an attempt completed, whatever HTTP status the handler set
 * - error: the last attempt failed, or no further attempt is possible
 * - timeout: the last attempt did not complete in time
 * - cancelled: a caller cancelled it
 *
 * The last four are final: a late result does not change them.
 */
export const executionStates = defineStates('execution', {
  queued: ['running', 'error', 'timeout', 'cancelled'],
  running: ['queued', 'success', 'error', 'timeout', 'cancelled'],
  success: [],
  error: [],
  timeout: [],
  cancelled: [],
});
export type ExecutionState = (typeof executionStates.all)[number];
export type FinalExecutionState = 'success' | 'error' | 'timeout' | 'cancelled';

export const ExecutionState = literalUnion(executionStates.all);

export const ExecutionId = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
  description: 'UUID version 7',
});

export const ExecutionError = Type.Object({
  code: Type.String({
    description: 'Error code: EXECUTION_FAILED, POOL_ERROR, POOL_TIMEOUT, QUEUE_TIMEOUT, EXECUTION_EXPIRED …',
  }),
  message: Type.String(),
});
export type ExecutionError = Static<typeof ExecutionError>;

const Headers = Type.Record(Type.String(), Type.String());
const instant = Type.String({ format: 'date-time' });
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Response of a synchronous call, whatever its result. */
export const InvocationEnvelope = Type.Object(
  {
    executionId: ExecutionId,
    status: ExecutionState,
    output: Type.Unknown({ description: 'Output of the handler' }),
    error: nullable(ExecutionError),
    statusCode: Type.Optional(Type.Integer({ description: 'HTTP status that the handler set' })),
    headers: Type.Optional(Headers),
    encoding: Type.Optional(Type.Literal('base64', { description: 'Set if `output` is binary, encoded as base64' })),
  },
  { $id: 'InvocationEnvelope' },
);
export type InvocationEnvelope = Static<typeof InvocationEnvelope>;

export const AcceptedExecution = Type.Object(
  { executionId: ExecutionId, status: ExecutionState },
  { $id: 'AcceptedExecution' },
);
export type AcceptedExecution = Static<typeof AcceptedExecution>;

export const ExecutionAttempt = Type.Object({
  attempt: Type.Integer({ description: 'Number of the attempt, from 1. A gap is an attempt whose process died' }),
  startedAt: instant,
  finishedAt: instant,
  error: Type.Optional(ExecutionError),
});
export type ExecutionAttempt = Static<typeof ExecutionAttempt>;

const step = (description: string) => Type.Number({ description });

/** Where the time of a call went that waited for a function worker; milliseconds. The steps add up to the whole time. */
export const ColdStartBreakdown = Type.Object(
  {
    queued: step('It waited for a free slot, or for another reason than those below'),
    decided: step('Until a worker was chosen or started for it'),
    process: step('A worker process was started, and connected'),
    connect: step('The worker was initialized'),
    reload: step('A placeholder took over the environment of the application'),
    load: step('The functions were loaded'),
    run: step('The function ran'),
  },
  { $id: 'ColdStartBreakdown' },
);
export type ColdStartBreakdown = Static<typeof ColdStartBreakdown>;

/** State and result of an execution. */
export const ExecutionStatus = Type.Object(
  {
    executionId: ExecutionId,
    functionName: Type.String(),
    status: ExecutionState,
    startedAt: Type.String({ format: 'date-time', description: 'Time of acceptance' }),
    runAt: Type.Optional(Type.String({ format: 'date-time', description: 'Earliest start, if one was requested' })),
    finishedAt: nullable(instant),
    output: Type.Unknown(),
    error: nullable(ExecutionError),
    lastError: Type.Optional(ExecutionError),
    attempts: Type.Integer({ description: 'Number of attempts' }),
    attemptLog: Type.Array(ExecutionAttempt, { description: 'The latest ten failed attempts, oldest first' }),
    coldStart: Type.Optional(Type.Boolean()),
    initDurationMs: Type.Optional(Type.Number()),
    coldStartMs: Type.Optional(ColdStartBreakdown),
    statusCode: Type.Optional(Type.Integer()),
    headers: Type.Optional(Headers),
    encoding: Type.Optional(Type.Literal('base64')),
    idempotencyKey: Type.Optional(Type.String()),
    concurrencyKey: Type.Optional(Type.String()),
    traceId: Type.Optional(Type.String()),
    metadata: Type.Optional(Headers),
    replayOf: Type.Optional(ExecutionId),
    deadLetter: Type.Optional(Type.Boolean({ description: 'The execution failed permanently and can be redriven' })),
    redrivenAs: Type.Optional(ExecutionId),
    evicted: Type.Optional(Type.Boolean({ description: 'Input and output were evicted and are no longer available' })),
  },
  { $id: 'Execution' },
);
export type ExecutionStatus = Static<typeof ExecutionStatus>;

const Metadata = Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 8_192 }), { maxProperties: 64 });

const concurrencyKey = Type.String({
  maxLength: 255,
  pattern: '^[\\x21-\\x7e]+$',
  description:
    'Calls of a function with the same key run one after the other, in the order of their acceptance, for example per order id. The header X-Concurrency-Key does the same',
});

/** Body of a call. */
export const InvocationBody = Type.Object(
  {
    input: Type.Unknown({ description: 'Input of the handler; required, may be null' }),
    metadata: Type.Optional(Metadata),
    concurrencyKey: Type.Optional(concurrencyKey),
  },
  { $id: 'InvocationBody' },
);
export type InvocationBody = Static<typeof InvocationBody>;

/** Body of an asynchronous call. */
export const EnqueueBody = Type.Object(
  {
    ...InvocationBody.properties,
    delayMs: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 2_592_000_000, description: 'Delay before the earliest start' }),
    ),
    runAt: Type.Optional(Type.String({ format: 'date-time', description: 'Earliest start' })),
    callbackUrl: Type.Optional(Type.String({ maxLength: 2_048, description: 'URL that receives the result by POST' })),
  },
  { $id: 'EnqueueBody' },
);
export type EnqueueBody = Static<typeof EnqueueBody>;

export const EnqueueBatchBody = Type.Object(
  {
    items: Type.Array(
      Type.Object({ ...EnqueueBody.properties, idempotencyKey: Type.Optional(Type.String({ maxLength: 255 })) }),
      { minItems: 1, maxItems: 1_000 },
    ),
  },
  { $id: 'EnqueueBatchBody' },
);
export type EnqueueBatchBody = Static<typeof EnqueueBatchBody>;

/** One result per item, in the order of the items. */
export const EnqueueBatchResult = Type.Object(
  {
    accepted: Type.Integer(),
    items: Type.Array(Type.Union([AcceptedExecution, Type.Object({ error: Type.String(), message: Type.String() })])),
  },
  { $id: 'EnqueueBatchResult' },
);
export type EnqueueBatchResult = Static<typeof EnqueueBatchResult>;

/** Result that a worker reports for a dispatched attempt. */
export const CompletionBody = Type.Object(
  {
    success: Type.Boolean(),
    output: Type.Optional(Type.Unknown()),
    error: Type.Optional(
      nullable(Type.Object({ code: Type.Optional(Type.String()), message: Type.Optional(Type.String()) })),
    ),
    statusCode: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
    headers: Type.Optional(Headers),
    encoding: Type.Optional(Type.Literal('base64')),
  },
  { $id: 'CompletionBody' },
);
export type CompletionBody = Static<typeof CompletionBody>;

export const ExecutionPage = Type.Object({
  executions: Type.Array(ExecutionStatus),
  next: Type.Optional(Type.String({ description: 'Value of `after` for the next page; absent on the last page' })),
});
export type ExecutionPage = Static<typeof ExecutionPage>;

export const ExecutionQuery = Type.Object(
  {
    function: Type.Optional(FunctionName),
    status: Type.Optional(ExecutionState),
    from: Type.Optional(Type.String({ format: 'date-time', description: 'Accepted at this instant or later' })),
    to: Type.Optional(Type.String({ format: 'date-time', description: 'Accepted before this instant' })),
    idempotencyKey: Type.Optional(Type.String({ maxLength: 255 })),
    traceId: Type.Optional(Type.String({ maxLength: 128 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
    after: Type.Optional(ExecutionId),
  },
  { additionalProperties: false },
);
export type ExecutionQuery = Static<typeof ExecutionQuery>;

/** Selects dead letters: by id, or by what they have in common. */
export const DeadLetterSelection = Type.Object(
  {
    executionIds: Type.Optional(Type.Array(ExecutionId, { minItems: 1, maxItems: 1_000 })),
    all: Type.Optional(
      Type.Boolean({
        description: 'Every dead letter that matches the other properties, instead of the first `limit`',
      }),
    ),
    function: ExecutionQuery.properties.function,
    errorCode: Type.Optional(Type.String({ maxLength: 100, description: 'Code of the error: POOL_ERROR' })),
    from: ExecutionQuery.properties.from,
    to: ExecutionQuery.properties.to,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000, description: 'Number of dead letters; default 100' }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type DeadLetterSelection = Static<typeof DeadLetterSelection>;
