import { count, type Readers } from '@drover/service-kit';

export type RecordEventObservation =
  | { readonly kind: 'record-events.read-failed'; readonly error: unknown }
  | { readonly kind: 'record-events.gap'; readonly after: number; readonly upTo: number }
  | { readonly kind: 'record-events.publish-failed'; readonly error: unknown }
  | { readonly kind: 'record-events.trimmed'; readonly events: number; readonly upTo: number };

export const recordEventReaders: Readers<RecordEventObservation> = {
  'record-events.read-failed': {
    level: 'warn',
    say: (o) => `record events cannot be read, and are read again: ${String(o.error)}`,
    metrics: [count('drover_record_events_read_failures_total', 'Reads of record events that failed and were retried')],
  },
  'record-events.gap': {
    level: 'debug',
    say: (o) => `record events between ${o.after} and ${o.upTo} wait for a transaction in progress`,
    metrics: [
      count(
        'drover_record_events_gaps_total',
        'Times that a missing record event made readers wait for the end of transactions in progress',
      ),
    ],
  },
  'record-events.publish-failed': {
    level: 'warn',
    say: (o) => `record events cannot be published on the bus, and are published later: ${String(o.error)}`,
  },
  'record-events.trimmed': {
    level: 'debug',
    say: (o) => `retention removed ${o.events} record events, up to ${o.upTo}`,
    metrics: [
      count('drover_record_events_trimmed_total', 'Record events that retention removed', { value: (o) => o.events }),
    ],
  },
};
