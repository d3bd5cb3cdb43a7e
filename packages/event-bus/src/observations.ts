import { count, gauge, seconds, type Readers } from '@drover/service-kit';

export type EventBusObservation =
  | {
      readonly kind: 'bus.relayed';
      readonly events: number;
      readonly lastPosition: number;
      readonly durationMs: number;
    }
  | { readonly kind: 'bus.relay-failed'; readonly error: unknown }
  | {
      readonly kind: 'bus.handled';
      readonly subscriber: string;
      readonly topic: string;
      readonly position: number;
      readonly lagMs: number;
    }
  | {
      readonly kind: 'bus.handler-failed';
      readonly subscriber: string;
      readonly topic: string;
      readonly position: number;
      readonly attempt: number;
      readonly error: unknown;
    }
  | {
      readonly kind: 'bus.fetch-failed';
      readonly subscriber: string;
      readonly attempt: number;
      readonly error: unknown;
    }
  | { readonly kind: 'bus.gap'; readonly subscriber: string; readonly after: number; readonly next: number }
  | { readonly kind: 'bus.subscription'; readonly subscriber: string; readonly state: string }
  | { readonly kind: 'bus.trimmed'; readonly events: number };

const bySubscriber = {
  labelNames: ['subscriber'],
  labels: (o: { readonly subscriber: string }) => ({ subscriber: o.subscriber }),
} as const;

export const eventBusReaders: Readers<EventBusObservation> = {
  'bus.relayed': {
    level: 'debug',
    say: (o) => `the relay moved ${o.events} events to the log, up to position ${o.lastPosition}`,
    metrics: [
      count('drover_events_relayed_total', 'Events that the relay moved from the outbox to the log', {
        value: (o) => o.events,
      }),
      seconds('drover_events_relay_seconds', 'Duration of one run of the relay', { valueMs: (o) => o.durationMs }),
      gauge('drover_events_last_position', 'Position of the newest event this process relayed', {
        value: (o) => o.lastPosition,
      }),
    ],
  },
  'bus.relay-failed': {
    level: 'warn',
    say: (o) => `the relay failed and retries; events wait in the outbox: ${String(o.error)}`,
    metrics: [count('drover_events_relay_failures_total', 'Runs of the relay that failed and were retried')],
  },
  'bus.handled': {
    level: 'debug',
    say: (o) => `subscriber ${o.subscriber} handled event ${o.position} of ${o.topic}`,
    metrics: [
      count('drover_events_handled_total', 'Events handled by subscribers', bySubscriber),
      seconds<{ subscriber: string; lagMs: number }, 'subscriber'>(
        'drover_events_lag_seconds',
        'Time from the publication of an event to the end of its handling',
        {
          ...bySubscriber,
          valueMs: (o) => o.lagMs,
        },
      ),
    ],
  },
  'bus.handler-failed': {
    level: 'warn',
    say: (o) =>
      `subscriber ${o.subscriber} failed to handle event ${o.position} of ${o.topic} and retries (attempt ${o.attempt}): ${String(o.error)}`,
    metrics: [
      count(
        'drover_events_handler_failures_total',
        'Events whose handler failed and that were delivered again',
        bySubscriber,
      ),
    ],
  },
  'bus.fetch-failed': {
    level: 'warn',
    say: (o) => `subscriber ${o.subscriber} cannot read events and retries (attempt ${o.attempt}): ${String(o.error)}`,
  },
  'bus.gap': {
    level: 'warn',
    say: (o) =>
      `subscriber ${o.subscriber} missed the events between ${o.after} and ${o.next}, which retention removed; it loads a snapshot`,
    metrics: [
      count(
        'drover_events_gaps_total',
        'Times that retention removed events before a subscriber received them',
        bySubscriber,
      ),
    ],
  },
  'bus.subscription': { level: 'debug', say: (o) => `subscription ${o.subscriber} is ${o.state}` },
  'bus.trimmed': {
    level: 'debug',
    say: (o) => `retention removed ${o.events} events`,
    metrics: [count('drover_events_trimmed_total', 'Events that retention removed', { value: (o) => o.events })],
  },
};
