import { count, type Readers } from '@drover/service-kit';

export type ExecutionStoreObservation =
  | {
      readonly kind: 'executions.swept';
      /** Executions whose time was over. */
      readonly expired: number;
      /** Executions whose input and output were dropped for want of room. */
      readonly evicted: number;
    }
  | { readonly kind: 'executions.upkeep-failed'; readonly task: string; readonly error: unknown };

export const executionStoreReaders: Readers<ExecutionStoreObservation> = {
  'executions.swept': {
    level: 'debug',
    say: (o) => `removed ${o.expired} executions whose time was over; dropped the payloads of ${o.evicted}`,
    metrics: [
      count('drover_executions_expired_total', 'Executions that were removed because their time was over', {
        labelNames: [],
        labels: () => ({}),
        value: (o) => o.expired,
      }),
      count('drover_executions_evicted_total', 'Executions whose input and output were dropped for want of room', {
        labelNames: [],
        labels: () => ({}),
        value: (o) => o.evicted,
      }),
    ],
  },
  'executions.upkeep-failed': {
    level: 'warn',
    say: (o) => `could not ${o.task} of the execution store: ${String(o.error)}; it is tried again`,
  },
};
