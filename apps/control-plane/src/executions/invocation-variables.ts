import { integer, milliseconds } from '@drover/service-kit';

export const invocationVariables = {
  schedulerTickMs: milliseconds('SCHEDULER_TICK_MS', {
    min: 1,
    max: 1_000,
    default: 5,
    about:
      'Resolution of delays: delayed executions and retries that are due within one tick start together. Work without a delay starts at once.',
  }),
  executionLifetimeMs: milliseconds('DROVER_EXECUTION_LIFETIME_MS', {
    min: 1_000,
    max: 604_800_000,
    default: 86_400_000,
    about:
      'Time limit of an execution from its acceptance to its end. After it the execution ends with the error EXECUTION_EXPIRED. Also limits the retry window of functions.',
  }),
  maxInFlight: integer('DROVER_MAX_IN_FLIGHT', {
    min: 1,
    max: 1_000_000,
    default: 1_000,
    about: 'Attempts of all functions that one replica runs at a time. Tenants share them in turn.',
  }),
  maxKeys: integer('DROVER_MAX_IDEMPOTENCY_KEYS', {
    min: 1,
    max: 100_000_000,
    default: 1_000_000,
    about:
      'Idempotency keys of one tenant that one replica remembers, each until EXECUTION_TTL_MS after the end of its execution. A key takes about 250 bytes. A call with another key is refused.',
  }),
  maxScheduled: integer('DROVER_MAX_SCHEDULED', {
    min: 0,
    max: 10_000_000,
    default: 100_000,
    about: 'Delayed executions that may wait on one replica.',
  }),
  queuedMaxBytes: integer('DROVER_QUEUED_MAX_BYTES', {
    min: 1_048_576,
    max: 1_099_511_627_776,
    default: 268_435_456,
    about: 'Bytes of all inputs that wait or run on one replica.',
  }),
};
