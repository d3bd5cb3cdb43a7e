import { count, type Readers } from '@drover/service-kit';

interface CallbackFields {
  readonly executionId: string;
  readonly functionName: string;
  /** Without path and query, which may hold secrets. */
  readonly origin: string;
  readonly tries: number;
}

export type CallbackObservation =
  | (CallbackFields & { readonly kind: 'callback.delivered' })
  | (CallbackFields & {
      readonly kind: 'callback.given-up';
      /** The values of `DeliveryEnd`, and expired: the result is no longer stored, or could not be delivered within a day. */
      readonly reason: 'full' | 'refused' | 'failed' | 'stopping' | 'expired';
      readonly problem: string;
    })
  /** The result stays in the store and is delivered later: here, after a restart, or by the next owner. */
  | (CallbackFields & {
      readonly kind: 'callback.postponed';
      readonly reason: 'full' | 'stopping';
      readonly problem: string;
    })
  | { readonly kind: 'callback.resumed'; readonly results: number }
  | { readonly kind: 'callback.scan-failed'; readonly error: unknown }
  | { readonly kind: 'callback.not-removed'; readonly executionId: string; readonly error: unknown };

/** Returns the URL without path and query, which may hold secrets. */
export function originOf(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : '(no URL)';
}

export const callbackReaders: Readers<CallbackObservation> = {
  'callback.delivered': {
    level: 'debug',
    say: (o) => `the result of execution ${o.executionId} was delivered to ${o.origin}`,
    metrics: [count('drover_callbacks_delivered_total', 'Results that were delivered to callback URLs')],
  },
  'callback.given-up': {
    level: 'warn',
    say: (o) =>
      `the result of execution ${o.executionId} (${o.functionName}) was not delivered to ${o.origin} (${o.reason}): ${o.problem}`,
    metrics: [
      count('drover_callbacks_given_up_total', 'Results that could not be delivered to callback URLs', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
  'callback.postponed': {
    level: 'debug',
    say: (o) => `the result of execution ${o.executionId} is delivered later (${o.reason}): ${o.problem}`,
    metrics: [
      count('drover_callbacks_postponed_total', 'Results that stay in the store until they can be delivered', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
  'callback.resumed': {
    level: 'info',
    say: (o) => `the delivery of ${o.results} stored results was resumed`,
    metrics: [
      count('drover_callbacks_taken_up_total', 'Stored results whose delivery was resumed', {
        value: (o) => o.results,
      }),
    ],
  },
  'callback.scan-failed': {
    level: 'warn',
    say: (o) => `the scan for results to deliver failed and is repeated: ${String(o.error)}`,
  },
  'callback.not-removed': {
    level: 'warn',
    say: (o) =>
      `the delivered result of execution ${o.executionId} could not be marked as done: ${String(o.error)}; it is sent again after a restart`,
  },
};
