import { count, type Readers } from '@drover/service-kit';

/** Single calls are counted by `metrics/`, not told one by one: there are too many of them. */
export type InvocationObservation =
  | {
      readonly kind: 'invocation.dispatch-broke';
      readonly function: string;
      readonly mode: string;
      readonly error: unknown;
    }
  | { readonly kind: 'invocation.note-failed'; readonly executionId: string; readonly reason: unknown }
  | { readonly kind: 'invocation.let-go'; readonly executionId: string; readonly error: unknown }
  | {
      readonly kind: 'invocation.recovered';
      readonly partitions: number;
      readonly executions: number;
      readonly keys: number;
    }
  | { readonly kind: 'invocation.orphans'; readonly executions: number };

export const invocationReaders: Readers<InvocationObservation> = {
  'invocation.dispatch-broke': {
    level: 'error',
    say: (o) => `an attempt of ${o.function} (${o.mode}) broke the dispatcher: ${String(o.error)}`,
    metrics: [
      count('drover_dispatch_broke_total', 'Attempts that a dispatcher failed to run for a reason of its own', {
        labelNames: ['mode'],
        labels: (o) => ({ mode: o.mode }),
      }),
    ],
  },
  'invocation.note-failed': {
    level: 'warn',
    say: (o) => `a failed attempt of ${o.executionId} could not be noted: ${String(o.reason)}`,
  },
  'invocation.let-go': {
    level: 'warn',
    say: (o) => `the end of ${o.executionId} could not be kept, another replica runs it again: ${String(o.error)}`,
    metrics: [
      count('drover_executions_let_go_total', 'Executions whose end was not kept because their home had moved'),
    ],
  },
  'invocation.recovered': {
    level: (o) => (o.executions > 0 ? 'info' : 'debug'),
    say: (o) => `home of ${o.partitions} more partitions: took up ${o.executions} executions and ${o.keys} keys`,
    metrics: [
      count('drover_executions_recovered_total', 'Executions that were taken up after a restart or a move', {
        value: (o) => o.executions,
      }),
    ],
  },
  'invocation.orphans': {
    level: 'warn',
    say: (o) => `${o.executions} executions wait for a function that nobody knows at the moment`,
  },
};
