import { count, type Readers } from '@drover/service-kit';

interface OfFunction {
  readonly functionName: string;
}

export type EventGridObservation =
  | (OfFunction & { readonly kind: 'event-grid.listener'; readonly state: string })
  | (OfFunction & { readonly kind: 'event-grid.subscribed' })
  | (OfFunction & { readonly kind: 'event-grid.received'; readonly events: number })
  | (OfFunction & { readonly kind: 'event-grid.sent'; readonly events: number })
  | (OfFunction & { readonly kind: 'event-grid.invalid'; readonly problem: string })
  | (OfFunction & { readonly kind: 'event-grid.failed'; readonly outcome: string; readonly attempt: number })
  /** A defect: `deliver` must not reject. */
  | (OfFunction & { readonly kind: 'event-grid.delivery-threw'; readonly error: unknown });

const byFunction = {
  labelNames: ['function'],
  labels: (o: OfFunction) => ({ function: o.functionName }),
} as const;

export const eventGridReaders: Readers<EventGridObservation> = {
  'event-grid.listener': { level: 'debug', say: (o) => `the webhook of ${o.functionName} is ${o.state}` },
  'event-grid.subscribed': { level: 'info', say: (o) => `the webhook of ${o.functionName} was validated by a sender` },
  'event-grid.received': {
    level: 'debug',
    say: (o) => `the webhook of ${o.functionName} received ${o.events} events`,
    metrics: [
      count<OfFunction & { readonly events: number }, 'function'>(
        'drover_event_grid_received_total',
        'Events that were pushed to webhooks',
        { ...byFunction, value: (o) => o.events },
      ),
    ],
  },
  'event-grid.sent': {
    level: 'debug',
    say: (o) => `${o.functionName} sent ${o.events} events to its topic`,
    metrics: [
      count<OfFunction & { readonly events: number }, 'function'>(
        'drover_event_grid_sent_total',
        'Events sent by output bindings',
        { ...byFunction, value: (o) => o.events },
      ),
    ],
  },
  'event-grid.invalid': {
    level: 'warn',
    say: (o) => `the webhook of ${o.functionName} refused a request: it ${o.problem}`,
    metrics: [count('drover_event_grid_invalid_total', 'Requests to webhooks that were refused', byFunction)],
  },
  'event-grid.failed': {
    level: 'info',
    say: (o) => `events for ${o.functionName} were not accepted (${o.outcome}, attempt ${o.attempt} of the sender)`,
    metrics: [
      count<OfFunction & { readonly outcome: string }, 'function' | 'outcome'>(
        'drover_event_grid_failed_total',
        'Requests to webhooks whose events were not accepted',
        {
          labelNames: ['function', 'outcome'],
          labels: (o) => ({ function: o.functionName, outcome: o.outcome }),
        },
      ),
    ],
  },
  'event-grid.delivery-threw': {
    level: 'error',
    say: (o) => `an event for ${o.functionName} could not be delivered: ${String(o.error)}`,
  },
};
