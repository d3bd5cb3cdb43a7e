import { count, seconds, type Observe, type Readers, type TraceContext } from '@drover/service-kit';

export type HttpObservation =
  | { readonly kind: 'http.listening'; readonly url: string }
  | {
      readonly kind: 'http.request';
      readonly application: string;
      /** Name of the function, or of the component that answered. Never the path, which holds values. */
      readonly function: string;
      readonly method: string;
      readonly status: number;
      readonly durationMs: number;
      readonly endedAt: number;
      readonly trace: TraceContext | undefined;
    }
  | { readonly kind: 'http.unreadable'; readonly status: number; readonly reason: string }
  | {
      readonly kind: 'http.failed';
      readonly requestId: string;
      readonly application: string;
      readonly function: string;
      readonly error: unknown;
    }
  | { readonly kind: 'http.refused'; readonly application: string; readonly function: string; readonly reason: string }
  | { readonly kind: 'http.admin'; readonly application: string; readonly action: string };

export type HttpObserve = Observe<HttpObservation>;

export const httpReaders: Readers<HttpObservation> = {
  'http.listening': { level: 'info', say: (o) => `serving functions on ${o.url}` },
  'http.request': {
    level: 'debug',
    say: (o) => `${o.method} ${o.application} ${o.function} ${o.status} in ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      seconds('drover_runtime_http_request_seconds', 'Duration of function requests to the last byte of the response', {
        labelNames: ['application', 'function', 'status'],
        labels: (o) => ({ application: o.application, function: o.function, status: o.status }),
        valueMs: (o) => o.durationMs,
      }),
    ],
    span: (o) =>
      o.trace && {
        name: `${o.method} ${o.function}`,
        trace: o.trace,
        endedAt: o.endedAt,
        durationMs: o.durationMs,
        attributes: { 'http.request.method': o.method, 'http.response.status_code': o.status, 'faas.name': o.function },
        failed: o.status >= 500,
      },
  },
  'http.unreadable': {
    level: 'debug',
    say: (o) => `refused a connection with ${o.status}: ${o.reason}`,
    metrics: [
      count('drover_runtime_http_unreadable_total', 'Function requests refused before they could be parsed', {
        labelNames: ['status'],
        labels: (o) => ({ status: o.status }),
      }),
    ],
  },
  'http.failed': {
    level: 'error',
    say: (o) => `request ${o.requestId} for ${o.function} of ${o.application} failed: ${messageOf(o.error)}`,
  },
  'http.refused': {
    level: 'info',
    say: (o) => `refused a request for ${o.function} of ${o.application}: ${o.reason}`,
    maxLines: { perSecond: 10, by: (o) => o.reason },
    metrics: [
      count('drover_runtime_http_refused_total', 'Function requests that were refused', {
        labelNames: ['application', 'reason'],
        labels: (o) => ({ application: o.application, reason: o.reason }),
      }),
    ],
  },
  'http.admin': { level: 'info', say: (o) => `admin of ${o.application}: ${o.action}` },
};

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
