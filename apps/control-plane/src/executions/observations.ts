import { count, type Readers } from '@drover/service-kit';

/** Single calls are counted in `FunctionMetrics`: there are too many of them to observe each. */
export type InvocationObservation =
  | {
      readonly kind: 'invocation.dispatcher-failed';
      readonly function: string;
      readonly mode: string;
      readonly error: unknown;
    }
  | { readonly kind: 'invocation.retry-not-recorded'; readonly executionId: string; readonly reason: unknown }
  | { readonly kind: 'invocation.end-not-stored'; readonly executionId: string; readonly error: unknown }
  | {
      readonly kind: 'invocation.recovered';
      readonly partitions: number;
      readonly executions: number;
      readonly keys: number;
    }
  | { readonly kind: 'invocation.orphans'; readonly executions: number };

export const invocationReaders: Readers<InvocationObservation> = {
  'invocation.dispatcher-failed': {
    level: 'error',
    say: (o) => `the ${o.mode} dispatcher failed in an attempt of function ${o.function}: ${String(o.error)}`,
    metrics: [
      count('drover_dispatch_broke_total', 'Attempts that failed by an error of their dispatcher', {
        labelNames: ['mode'],
        labels: (o) => ({ mode: o.mode }),
      }),
    ],
  },
  'invocation.retry-not-recorded': {
    level: 'warn',
    say: (o) => `a failed attempt of execution ${o.executionId} could not be recorded: ${String(o.reason)}`,
  },
  'invocation.end-not-stored': {
    level: 'warn',
    say: (o) =>
      `the end of execution ${o.executionId} could not be stored, so another replica runs it again: ${String(o.error)}`,
    metrics: [
      count('drover_executions_let_go_total', 'Executions whose end was not stored because another replica owns them'),
    ],
  },
  'invocation.recovered': {
    level: (o) => (o.executions > 0 ? 'info' : 'debug'),
    say: (o) => `recovered ${o.executions} executions and ${o.keys} idempotency keys of ${o.partitions} partitions`,
    metrics: [
      count('drover_executions_recovered_total', 'Executions that were recovered after a restart or a move', {
        value: (o) => o.executions,
      }),
    ],
  },
  'invocation.orphans': {
    level: 'warn',
    say: (o) => `${o.executions} executions wait because their function is unknown at the moment`,
  },
};
