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
      /**
       * full: too many waited; refused: not a place to call; failed: tried often enough; stopping: no time left; expired: it was
       * kept, and is not any more, or has been for long enough.
       */
      readonly reason: 'full' | 'refused' | 'failed' | 'stopping' | 'expired';
      readonly problem: string;
    })
  /** Nothing is lost: it is marked in the store, and taken up again here, after a restart, or at the next home. */
  | (CallbackEnd & {
      readonly kind: 'callback.postponed';
      readonly reason: 'full' | 'stopping';
      readonly problem: string;
    })
  | { readonly kind: 'callback.taken-up'; readonly results: number }
  | { readonly kind: 'callback.look-failed'; readonly error: unknown }
  | { readonly kind: 'callback.mark-left'; readonly executionId: string; readonly error: unknown };

/** Without path and query: they may hold keys. */
export function originOf(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : '(no URL)';
}

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
  'callback.postponed': {
    level: 'debug',
    say: (o) => `the result of ${o.executionId} waits in the store (${o.reason}): ${o.problem}`,
    metrics: [
      count('drover_callbacks_postponed_total', 'Results that wait in the store until they can be delivered', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
  'callback.taken-up': {
    level: 'info',
    say: (o) => `took up ${o.results} results that are still to be delivered`,
    metrics: [
      count('drover_callbacks_taken_up_total', 'Results that waited in the store and whose delivery was taken up', {
        value: (o) => o.results,
      }),
    ],
  },
  'callback.look-failed': {
    level: 'warn',
    say: (o) => `could not look for results that are still to be delivered: ${String(o.error)}; it is tried again`,
  },
  'callback.mark-left': {
    level: 'warn',
    say: (o) =>
      `that the result of ${o.executionId} is done with could not be noted: ${String(o.error)}; after a restart it is sent again`,
  },
};
