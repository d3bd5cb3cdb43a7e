import { count, type Readers } from '@drover/service-kit';

export type ExecutionStoreObservation =
  | {
      readonly kind: 'executions.swept';
      /** Executions that were removed after their time to live. */
      readonly expired: number;
      /** Executions whose input and output were dropped to free space. */
      readonly evicted: number;
    }
  | { readonly kind: 'executions.upkeep-failed'; readonly task: string; readonly error: unknown };

export const executionStoreReaders: Readers<ExecutionStoreObservation> = {
  'executions.swept': {
    level: 'debug',
    say: (o) => `removed ${o.expired} expired executions; dropped the payloads of ${o.evicted}`,
    metrics: [
      count('drover_executions_expired_total', 'Executions that were removed after their time to live', {
        labelNames: [],
        labels: () => ({}),
        value: (o) => o.expired,
      }),
      count('drover_executions_evicted_total', 'Executions whose input and output were dropped to free space', {
        labelNames: [],
        labels: () => ({}),
        value: (o) => o.evicted,
      }),
    ],
  },
  'executions.upkeep-failed': {
    level: 'warn',
    say: (o) => `execution store: could not ${o.task}: ${String(o.error)}; the next maintenance run tries again`,
  },
};
