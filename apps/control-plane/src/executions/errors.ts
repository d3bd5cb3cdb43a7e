import { defineError } from '@drover/contracts';

export const functionUnknown = defineError<{ name: string }>('FUNCTION_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `Your tenant has no function ${d.name}. List its functions with GET /v1/functions.`,
  help: 'Check the name against `GET /v1/functions`, or register the function.',
});

export const executionNotFound = defineError<{ executionId: string }>('EXECUTION_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `Your tenant has no execution ${d.executionId}. Check the id; results are stored for EXECUTION_TTL_MS after the end.`,
  help: 'The id does not belong to your tenant, or the result has expired (`EXECUTION_TTL_MS`).',
});

export const queueFull = defineError<{ name: string; waiting: number; queueSize: number }>('QUEUE_FULL', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) =>
    `The queue of function ${d.name} is full: ${d.waiting} of ${d.queueSize} calls wait. Retry after the time in Retry-After.`,
  help: 'The function receives more calls than it can run. Retry later, or raise its `concurrency` or `queueSize`.',
});

export const waitTooLong = defineError<{ name: string; estimateMs: number; budgetMs: number }>('QUEUE_WAIT_TOO_LONG', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) =>
    `A call of function ${d.name} would wait about ${d.estimateMs} ms in its queue, longer than your ${d.budgetMs} ms. Retry after the time in Retry-After.`,
  help: 'The estimated wait exceeds the time limit of the call. Retry later, raise `X-Timeout-Ms`, or enqueue the call.',
});

export const queuesFull = defineError<{ limitBytes: number }>('QUEUES_FULL', {
  fault: 'platform',
  retryable: true,
  status: 429,
  message: (d) => `The inputs of all waiting and running calls exceed ${d.limitBytes} bytes. Retry later.`,
  help: 'The memory for inputs is full. Retry later, or raise `DROVER_QUEUED_MAX_BYTES`.',
});

export const tooManyScheduled = defineError<{ limit: number }>('TOO_MANY_SCHEDULED', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) => `The limit of ${d.limit} delayed executions is reached. Retry later.`,
  help: 'Too many delayed executions wait for their time. Retry later, or raise `DROVER_MAX_SCHEDULED`.',
});

export const tooManyKeys = defineError<{ limit: number }>('IDEMPOTENCY_KEYS_EXHAUSTED', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) =>
    `Your tenant has ${d.limit} idempotency keys in use, the limit of one replica. Retry after the time in Retry-After, when the next key expires.`,
  help: 'The tenant uses too many different keys within `EXECUTION_TTL_MS`. Retry later, or raise `DROVER_MAX_IDEMPOTENCY_KEYS`.',
});

export const keyReused = defineError<{ executionId: string }>('IDEMPOTENCY_KEY_REUSED', {
  fault: 'caller',
  retryable: false,
  status: 422,
  message: (d) =>
    `The idempotency key stands for execution ${d.executionId}, which has another input. Use a new key for another input.`,
  help: 'The same key was sent with a different input. Use one key per operation.',
});

export const keyTaken = defineError<{ executionId: string }>('IDEMPOTENCY_KEY_TAKEN', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `The idempotency key of this execution stands for execution ${d.executionId} by now, so a replay would run the call twice. Replay that execution if it failed, too.`,
  help: 'The call was sent again with its key, or replayed before. Look at the execution that the key stands for.',
});

export const resultEvicted = defineError<{ executionId: string }>('RESULT_EVICTED', {
  fault: 'caller',
  retryable: false,
  status: 410,
  message: (d) =>
    `Execution ${d.executionId} of this idempotency key has ended, but its result is no longer stored. Use a new key to run the function again.`,
  help: 'Use a new idempotency key to run the function again.',
});

export const executionEnded = defineError<{ executionId: string; status: string }>('EXECUTION_ENDED', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) => `Execution ${d.executionId} has ended with status ${d.status} and cannot be cancelled.`,
  help: 'Only an execution that has not ended can be cancelled.',
});

export const notReplayable = defineError<{ executionId: string; reason: string }>('EXECUTION_NOT_REPLAYABLE', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) => `Execution ${d.executionId} cannot be replayed: ${d.reason}.`,
  help: 'Only a failed execution whose input is still stored and whose function still exists can be replayed.',
});

export const deadLetterNotFound = defineError<{ executionId: string }>('DEAD_LETTER_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `Your tenant has no dead letter ${d.executionId}. List the dead letters with GET /v1/dead-letters.`,
  help: 'The execution is no dead letter of your tenant, or it was redriven or deleted before.',
});

export const functionRemoved = defineError<{ name: string }>('FUNCTION_REMOVAL_PENDING', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) => `Function ${d.name} was removed and accepts no more calls. Register it again first.`,
  help: 'The function was removed a moment ago. Register it again first.',
});

export const functionPaused = defineError<{ name: string }>('FUNCTION_PAUSED', {
  fault: 'caller',
  retryable: true,
  status: 503,
  message: (d) =>
    `Function ${d.name} is paused and runs no calls. Resume it with POST /v1/functions/${d.name}/queue:resume, or send the call with :enqueue, which waits.`,
  help: 'The queue of the function is paused. Resume it, or enqueue the call: it runs after the pause.',
});

export const functionDraining = defineError<{ name: string }>('FUNCTION_DRAINING', {
  fault: 'caller',
  retryable: true,
  status: 503,
  message: (d) =>
    `Function ${d.name} is being drained and accepts no calls. Open its queue with POST /v1/functions/${d.name}/queue:resume.`,
  help: 'The queue of the function is being drained, or was. Open it again with `queue:resume`.',
});

export const callbackRefused = defineError('COMPLETION_REFUSED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: () =>
    'No result is awaited at this URL. Post the result to the URL of a running attempt, or with an API key.',
  help: 'Post the result to the URL that came with the attempt, while the attempt runs, or use an API key.',
});

export const ownerMoving = defineError('EXECUTION_HOME_MOVING', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'This function is moving to another replica. Try again.',
  help: 'A replica joined or ended, and its functions move. Try again.',
});

export const waitOver = defineError<{ executionId: string }>('WAIT_TIMEOUT', {
  fault: 'caller',
  retryable: false,
  status: 408,
  message: (d) =>
    `Execution ${d.executionId} has not ended within the time limit of the call. Read its state with GET /v1/executions/${d.executionId}.`,
  help: 'Raise `X-Timeout-Ms`, or read the execution later.',
});

export const notKept = defineError('EXECUTION_NOT_KEPT', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () =>
    'The database refused the write or went away, so the call was not accepted. Send it again after Retry-After, with the same Idempotency-Key if it has one.',
  help: 'The log of the control plane has the reason of the database. Send the call again; with an `Idempotency-Key` it runs once, whatever became of the write.',
});

export const notKeptYet = defineError('EXECUTION_NOT_KEPT_YET', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () =>
    'The database did not confirm in time that the call is stored, so it was not accepted. Send it again after Retry-After, with the same Idempotency-Key if it has one.',
  help: 'The database is frozen or very slow: check it. Send the call again; with an `Idempotency-Key` it runs once, whatever became of the write. The end of a call that was stored too late is `cancelled` with this code.',
});

export const invocationErrors = {
  functionUnknown,
  executionNotFound,
  queueFull,
  waitTooLong,
  queuesFull,
  tooManyScheduled,
  tooManyKeys,
  keyReused,
  keyTaken,
  resultEvicted,
  executionEnded,
  notReplayable,
  deadLetterNotFound,
  functionRemoved,
  functionPaused,
  functionDraining,
  callbackRefused,
  ownerMoving,
  notKept,
  notKeptYet,
  waitOver,
};
