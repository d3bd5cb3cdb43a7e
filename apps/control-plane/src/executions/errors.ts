import { defineError } from '@drover/contracts';

export const functionNotFound = defineError<{ name: string }>('FUNCTION_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `your tenant has no function ${d.name}; GET /v1/functions lists those it has`,
  help: 'Check the name against `GET /v1/functions`, or register the function.',
});

export const executionNotFound = defineError<{ executionId: string }>('EXECUTION_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `your tenant has no execution ${d.executionId}; results are kept for EXECUTION_TTL_MS after the end`,
  help: 'The id is not one of your tenant, or the time for which results are kept is over.',
});

export const queueFull = defineError<{ name: string; waiting: number; queueSize: number }>('QUEUE_FULL', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) =>
    `${d.waiting} calls of ${d.name} wait already, of ${d.queueSize} that may; come back after Retry-After`,
  help: 'The function gets more calls than it can run: come back later, or raise its `concurrency` or `queueSize`.',
});

export const waitTooLong = defineError<{ name: string; estimateMs: number; budgetMs: number }>('QUEUE_WAIT_TOO_LONG', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) =>
    `a call of ${d.name} would wait about ${d.estimateMs} ms for its turn, longer than the ${d.budgetMs} ms that you wait; come back after Retry-After`,
  help: 'The line is longer than the caller would wait: come back later, or wait longer with `X-Timeout-Ms`, or enqueue.',
});

export const queuesFull = defineError<{ limitBytes: number }>('QUEUES_FULL', {
  fault: 'platform',
  retryable: true,
  status: 429,
  message: (d) => `what waits in all queues together is larger than ${d.limitBytes} bytes`,
  help: 'Inputs that wait fill the memory set aside for them: come back later, or raise `DROVER_QUEUED_MAX_BYTES`.',
});

export const tooManyScheduled = defineError<{ limit: number }>('TOO_MANY_SCHEDULED', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) => `${d.limit} executions wait for their time already`,
  help: 'Too many delayed executions: come back later, or raise `DROVER_MAX_SCHEDULED`.',
});

export const tooManyKeys = defineError<{ limit: number }>('IDEMPOTENCY_KEYS_EXHAUSTED', {
  fault: 'caller',
  retryable: true,
  status: 429,
  message: (d) =>
    `${d.limit} idempotency keys are in use; each is kept until EXECUTION_TTL_MS after its execution ended`,
  help: 'Too many different keys: come back later, or raise `DROVER_MAX_IDEMPOTENCY_KEYS`.',
});

export const resultEvicted = defineError<{ executionId: string }>('RESULT_EVICTED', {
  fault: 'caller',
  retryable: false,
  status: 410,
  message: (d) => `execution ${d.executionId} has ended, but its result is no longer kept; it was not run again`,
  help: 'Use a new idempotency key to run the function again.',
});

export const executionEnded = defineError<{ executionId: string; status: string }>('EXECUTION_ENDED', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) => `execution ${d.executionId} has ended as ${d.status}`,
  help: 'Only an execution that has not ended can be cancelled.',
});

export const notReplayable = defineError<{ executionId: string; reason: string }>('EXECUTION_NOT_REPLAYABLE', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) => `execution ${d.executionId} cannot be replayed: ${d.reason}`,
  help: 'Only executions that failed, whose input is still kept and whose function is still there, can run again.',
});

export const functionRemoved = defineError<{ name: string }>('FUNCTION_REMOVAL_PENDING', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) => `function ${d.name} is being removed and takes no more calls`,
  help: 'The function was removed a moment ago: register it again first.',
});

export const callbackRefused = defineError('COMPLETION_REFUSED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: () => 'this address is not, or no longer, one at which a result is awaited',
  help: 'Results are handed back at the address that came with the attempt, or with an API key.',
});

export const ownerMoving = defineError('EXECUTION_HOME_MOVING', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'another replica is just taking over this function',
  help: 'The functions of a replica that ended or joined are being handed over: try again.',
});

export const waitOver = defineError<{ executionId: string }>('WAIT_TIMEOUT', {
  fault: 'caller',
  retryable: false,
  status: 408,
  message: (d) => `no result in the time that you waited; GET /v1/executions/${d.executionId} tells how it goes on`,
  help: 'Wait longer with `X-Timeout-Ms`, or look at the execution later.',
});

export const notKept = defineError('EXECUTION_NOT_KEPT', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'the execution could not be kept, so it was not accepted',
  help: 'The database refused or is away: the log has the reason. Nothing was accepted; try again.',
});

export const notKeptYet = defineError('EXECUTION_NOT_KEPT_YET', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () =>
    'the database has not answered in time, so nobody knows yet whether this was accepted; asked again with the same Idempotency-Key it runs once',
  help: 'The database is frozen or very slow: look at it. A call without an `Idempotency-Key` that is sent again may run twice.',
});

export const invocationErrors = {
  functionNotFound,
  executionNotFound,
  queueFull,
  waitTooLong,
  queuesFull,
  tooManyScheduled,
  tooManyKeys,
  resultEvicted,
  executionEnded,
  notReplayable,
  functionRemoved,
  callbackRefused,
  ownerMoving,
  notKept,
  notKeptYet,
  waitOver,
};
