import { integer, milliseconds } from '@drover/service-kit';

export const invocationVariables = {
  schedulerTickMs: milliseconds('SCHEDULER_TICK_MS', {
    min: 1,
    max: 1_000,
    default: 5,
    about:
      'How far apart delayed executions and retries are looked at: what is due within one tick begins together. Work that is due at once does not wait for it.',
  }),
  executionLifetimeMs: milliseconds('DROVER_EXECUTION_LIFETIME_MS', {
    min: 1_000,
    max: 604_800_000,
    default: 1_800_000,
    about: 'After so long an execution that has not ended ends as an error: EXECUTION_EXPIRED.',
  }),
  maxInFlight: integer('DROVER_MAX_IN_FLIGHT', {
    min: 1,
    max: 1_000_000,
    default: 1_000,
    about: 'Attempts of all functions together that one replica runs at a time. Tenants take turns for them.',
  }),
  maxKeys: integer('DROVER_MAX_IDEMPOTENCY_KEYS', {
    min: 1,
    max: 100_000_000,
    default: 100_000,
    about: 'Idempotency keys that one replica remembers; a call with a further one is refused.',
  }),
  maxScheduled: integer('DROVER_MAX_SCHEDULED', {
    min: 0,
    max: 10_000_000,
    default: 100_000,
    about: 'Delayed executions that may wait for their time at one replica.',
  }),
  queuedMaxBytes: integer('DROVER_QUEUED_MAX_BYTES', {
    min: 1_048_576,
    max: 1_099_511_627_776,
    default: 268_435_456,
    about: 'Bytes of all inputs together that wait or run at one replica.',
  }),
};
