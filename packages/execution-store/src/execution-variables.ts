import { integer, milliseconds, oneOf } from '@drover/service-kit';

const dayMs = 86_400_000;

export const executionVariables = {
  executionStore: oneOf('EXECUTION_STORE', ['postgres', 'memory'], {
    default: 'postgres',
    about:
      'Where executions are kept. With `postgres` an accepted one survives the process; with `memory` it is gone with it, and there can be one replica only.',
  }),
  executionTtlMs: milliseconds('EXECUTION_TTL_MS', {
    min: 1_000,
    max: 30 * dayMs,
    default: 900_000,
    about: 'How long an execution that has ended can be read, and its idempotency key stays bound to it.',
  }),
  deadLetterTtlMs: milliseconds('DROVER_DEAD_LETTER_TTL_MS', {
    min: 1_000,
    max: 365 * dayMs,
    default: 14 * dayMs,
    about: 'How long executions that failed for good are kept for a redrive.',
  }),
  executionsMaxBytes: integer('DROVER_EXECUTIONS_MAX_BYTES', {
    min: 1_048_576,
    max: 1_099_511_627_776,
    default: 1_073_741_824,
    about:
      'How many bytes of inputs and outputs are kept of executions that have ended. Above that the oldest are dropped; the executions stay, and their keys.',
  }),
};
