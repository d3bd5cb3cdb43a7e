import Type, { type Static } from 'typebox';
import { FunctionName } from './function.js';
import { oneOf } from './one-of.js';
import { defineStates } from './states/define-states.js';

/**
 * - queued: accepted; waits for a free slot, for its time, or for its next attempt
 * - running: an attempt is under way
 * - success: an attempt came to its end, whatever HTTP status the handler chose
 * - error: the last attempt failed, or nobody would try again
 * - timeout: the last attempt had no answer in time
 * - cancelled: somebody asked for its end
 *
 * The last four are final: no late answer changes them.
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

export const ExecutionState = oneOf(executionStates.all);

export const ExecutionId = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
  description: 'A UUID of version 7',
});

export const ExecutionError = Type.Object({
  code: Type.String({ description: 'EXECUTION_FAILED, POOL_ERROR, POOL_TIMEOUT, QUEUE_TIMEOUT, EXECUTION_EXPIRED …' }),
  message: Type.String(),
});
export type ExecutionError = Static<typeof ExecutionError>;

const Headers = Type.Record(Type.String(), Type.String());
const instant = Type.String({ format: 'date-time' });
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** What a synchronous call answers, whatever became of it. */
export const InvocationEnvelope = Type.Object(
  {
    executionId: ExecutionId,
    status: ExecutionState,
    output: Type.Unknown({ description: 'What the handler returned' }),
    error: nullable(ExecutionError),
    statusCode: Type.Optional(Type.Integer({ description: 'The HTTP status that the handler chose' })),
    headers: Type.Optional(Headers),
    encoding: Type.Optional(Type.Literal('base64', { description: '`output` is binary' })),
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
  attempt: Type.Integer({ description: 'Counts from 1; a gap is an attempt that ended with the process that ran it' }),
  startedAt: instant,
  finishedAt: instant,
  error: Type.Optional(ExecutionError),
});
export type ExecutionAttempt = Static<typeof ExecutionAttempt>;

/** An execution as everybody may read it who may read the function. */
export const ExecutionStatus = Type.Object(
  {
    executionId: ExecutionId,
    functionName: Type.String(),
    status: ExecutionState,
    startedAt: Type.String({ format: 'date-time', description: 'When it was accepted' }),
    runAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'When it may begin, where that was asked for' }),
    ),
    finishedAt: nullable(instant),
    output: Type.Unknown(),
    error: nullable(ExecutionError),
    lastError: Type.Optional(ExecutionError),
    attempts: Type.Integer({ description: 'How often it was tried' }),
    attemptLog: Type.Array(ExecutionAttempt, { description: 'Attempts that failed, oldest first; the latest ten' }),
    coldStart: Type.Optional(Type.Boolean()),
    initDurationMs: Type.Optional(Type.Number()),
    statusCode: Type.Optional(Type.Integer()),
    headers: Type.Optional(Headers),
    encoding: Type.Optional(Type.Literal('base64')),
    idempotencyKey: Type.Optional(Type.String()),
    traceId: Type.Optional(Type.String()),
    metadata: Type.Optional(Headers),
    replayOf: Type.Optional(ExecutionId),
    deadLetter: Type.Optional(Type.Boolean({ description: 'It failed for good, and can be redriven' })),
    redrivenAs: Type.Optional(ExecutionId),
    evicted: Type.Optional(Type.Boolean({ description: 'Its result is no longer kept' })),
  },
  { $id: 'Execution' },
);
export type ExecutionStatus = Static<typeof ExecutionStatus>;

const Metadata = Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 8_192 }), { maxProperties: 64 });

/** The body of a call. */
export const InvocationBody = Type.Object(
  {
    input: Type.Unknown({ description: 'Whatever the handler takes; must be there, may be null' }),
    metadata: Type.Optional(Metadata),
  },
  { $id: 'InvocationBody' },
);
export type InvocationBody = Static<typeof InvocationBody>;

/** The body of a call that nobody waits for. */
export const EnqueueBody = Type.Object(
  {
    ...InvocationBody.properties,
    delayMs: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 2_592_000_000, description: 'Not before this long from now' }),
    ),
    runAt: Type.Optional(Type.String({ format: 'date-time', description: 'Not before this instant' })),
    callbackUrl: Type.Optional(Type.String({ maxLength: 2_048, description: 'The result is posted there' })),
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

/** One answer for each item, in the order of the items. */
export const EnqueueBatchResult = Type.Object(
  {
    accepted: Type.Integer(),
    items: Type.Array(Type.Union([AcceptedExecution, Type.Object({ error: Type.String(), message: Type.String() })])),
  },
  { $id: 'EnqueueBatchResult' },
);
export type EnqueueBatchResult = Static<typeof EnqueueBatchResult>;

/** What a runtime hands back by itself. */
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
  next: Type.Optional(Type.String({ description: 'For the next page: `after`' })),
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
