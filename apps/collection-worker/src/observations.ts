import { recordEventReaders, type RecordEventObservation } from '@drover/collection-engine';
import { databaseReaders, type DatabaseObservation } from '@drover/database';
import { eventBusReaders, type EventBusObservation } from '@drover/event-bus';
import { count, type Readers, type TraceContext } from '@drover/service-kit';

export type CollectionWorkerObservation =
  | DatabaseObservation
  | EventBusObservation
  | RecordEventObservation
  | { readonly kind: 'http.listening'; readonly url: string }
  | {
      readonly kind: 'http.request';
      readonly requestId: string;
      readonly method: string;
      /** The route pattern, never the URL itself: URLs contain ids. */
      readonly route: string;
      readonly status: number;
      readonly durationMs: number;
      readonly endedAt: number;
      readonly keyId: string | undefined;
      readonly trace: TraceContext;
    }
  | { readonly kind: 'http.unreadable'; readonly status: number; readonly reason: string }
  | { readonly kind: 'http.failed'; readonly requestId: string; readonly route: string; readonly error: unknown }
  | {
      readonly kind: 'access.refused';
      readonly requestId: string;
      readonly reason: string;
      readonly keyId: string | undefined;
    }
  | { readonly kind: 'collections.schema-awaited' }
  | {
      /** A request failed with a definition that was not current any more, and was run again with the current one. */
      readonly kind: 'collections.retried';
      readonly requestId: string;
      readonly route: string;
    };

export const collectionWorkerReaders: Readers<CollectionWorkerObservation> = {
  ...databaseReaders,
  ...eventBusReaders,
  ...recordEventReaders,
  'http.listening': { level: 'info', say: (o) => `listening on ${o.url}` },
  'http.request': {
    level: 'debug',
    say: (o) => `${o.method} ${o.route} ${o.status} in ${o.durationMs.toFixed(1)} ms`,
    span: (o) => ({
      name: `${o.method} ${o.route}`,
      trace: o.trace,
      endedAt: o.endedAt,
      durationMs: o.durationMs,
      attributes: { 'http.request.method': o.method, 'http.route': o.route, 'http.response.status_code': o.status },
      failed: o.status >= 500,
    }),
  },
  'http.unreadable': {
    level: 'debug',
    say: (o) => `a request was refused with ${o.status} before routing: ${o.reason}`,
    metrics: [
      count('drover_http_unreadable_total', 'Requests refused before routing', {
        labelNames: ['status'],
        labels: (o) => ({ status: o.status }),
      }),
    ],
  },
  'http.failed': {
    level: 'error',
    say: (o) => `request ${o.requestId} (${o.route}) failed: ${String(o.error)}`,
    maxLines: { perSecond: 10, by: (o) => o.route },
  },
  'access.refused': {
    level: 'warn',
    say: (o) => `request ${o.requestId} was refused, its API key is not accepted: ${o.reason}`,
    maxLines: { perSecond: 10, by: (o) => o.reason },
    metrics: [
      count('drover_access_refused_total', 'Requests refused for a missing, invalid or insufficient API key', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
  'collections.schema-awaited': {
    level: 'info',
    say: () => 'waiting for the tables of collections, which the control plane creates',
    isInternal: true,
  },
  'collections.retried': {
    level: 'debug',
    say: (o) => `request ${o.requestId} (${o.route}) ran again with the current definition`,
    metrics: [
      count('drover_records_retried_total', 'Requests that ran again because a definition had changed meanwhile'),
    ],
  },
};
