import { count, type Readers } from '@drover/service-kit';

interface CallbackEnd {
  readonly executionId: string;
  readonly functionName: string;
  /** Without path and query: they may hold keys. */
  readonly origin: string;
  readonly tries: number;
}

export type CallbackObservation =
  | (CallbackEnd & { readonly kind: 'callback.delivered' })
  | (CallbackEnd & {
      readonly kind: 'callback.given-up';
      /** full: too many waited; refused: not a place to call; failed: tried often enough; stopping: no time left. */
      readonly reason: 'full' | 'refused' | 'failed' | 'stopping';
      readonly problem: string;
    });

export const callbackReaders: Readers<CallbackObservation> = {
  'callback.delivered': {
    level: 'debug',
    say: (o) => `the result of ${o.executionId} was taken by ${o.origin}`,
    metrics: [count('drover_callbacks_delivered_total', 'Results that callback URLs took')],
  },
  'callback.given-up': {
    level: 'warn',
    say: (o) =>
      `the result of ${o.executionId} (${o.functionName}) was not taken by ${o.origin} (${o.reason}): ${o.problem}`,
    metrics: [
      count('drover_callbacks_given_up_total', 'Results that callback URLs did not take', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
};
