import { integer, milliseconds, oneOf } from '@drover/service-kit';

const dayMs = 86_400_000;

export const executionVariables = {
  executionStore: oneOf('EXECUTION_STORE', ['postgres', 'memory'], {
    default: 'postgres',
    about:
      'Where executions are stored. With `postgres` an accepted execution survives the process. With `memory` it does not, and there can be only one replica.',
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
    about: 'How long a dead letter, an execution that failed permanently, is stored for a redrive.',
  }),
  executionsMaxBytes: integer('DROVER_EXECUTIONS_MAX_BYTES', {
    min: 1_048_576,
    max: 1_099_511_627_776,
    default: 1_073_741_824,
    about:
      'How many bytes of inputs and outputs are stored of executions that have ended. Beyond it the oldest inputs and outputs are dropped; the executions and their keys stay.',
  }),
};
