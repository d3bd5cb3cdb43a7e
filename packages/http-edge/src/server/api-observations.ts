import { count, type Readers, type TraceContext } from '@drover/service-kit';

/** What a port that serves an API with keys observes. */
export type ApiObservation =
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
  | {
      readonly kind: 'http.unreadable';
      readonly requestId: string;
      readonly status: number;
      /** The parser's or router's error code. */
      readonly reason: string;
    }
  | { readonly kind: 'http.failed'; readonly requestId: string; readonly route: string; readonly error: unknown }
  | {
      readonly kind: 'access.refused';
      readonly requestId: string;
      readonly reason: string;
      readonly keyId: string | undefined;
    };

export const apiReaders: Readers<ApiObservation> = {
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
    say: (o) => `request ${o.requestId} was refused with ${o.status} before routing: ${o.reason}`,
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
};
