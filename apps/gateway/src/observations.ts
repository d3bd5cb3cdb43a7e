import { databaseReaders, type DatabaseObservation } from '@drover/database';
import { eventBusReaders, type EventBusObservation } from '@drover/event-bus';
import { apiReaders, type ApiObservation } from '@drover/http-edge';
import { count, type ComputedMetric, type Readers } from '@drover/service-kit';
import type { CollectionEndpoint } from './endpoints/collection-endpoint.js';

/** Why a request for records was sent again. */
export type RetryReason = 'unsent' | 'unread' | 'wrong-worker' | 'broke-off' | 'server-error' | 'spare';

export type CollectionFrontObservation =
  | {
      readonly kind: 'gateway.endpoint-moved';
      readonly workerId: string;
      readonly url: string;
      readonly from: string;
      readonly to: string;
      readonly isHung: boolean;
    }
  | { readonly kind: 'gateway.retried'; readonly reason: RetryReason; readonly workerId: string }
  | { readonly kind: 'gateway.held' }
  | {
      readonly kind: 'gateway.refused';
      readonly requestId: string;
      readonly code: string;
      readonly reason: string;
      /** The effect of the request is not known, or another fault of the platform that does not pass. */
      readonly isLasting: boolean;
    };

export const collectionFrontReaders: Readers<CollectionFrontObservation> = {
  'gateway.endpoint-moved': {
    level: (o) => (o.to === 'EJECTED' ? 'warn' : 'info'),
    say: (o) =>
      o.to === 'EJECTED'
        ? `collection worker ${o.workerId} gets no requests for a while: ${o.isHung ? 'it answers nothing' : 'too many of them failed'}`
        : `collection worker ${o.workerId} is ${o.to === 'HEALTHY' ? 'well again' : 'tried again with one request'}`,
    metrics: [
      count('drover_gateway_ejections_total', 'Times that a collection worker got no more requests because it failed', {
        labelNames: ['worker'],
        labels: (o) => ({ worker: o.workerId }),
        value: (o) => (o.to === 'EJECTED' ? 1 : 0),
      }),
    ],
  },
  'gateway.retried': {
    level: 'debug',
    isPerCall: true,
    say: (o) => `a request leaves collection worker ${o.workerId} for another one (${o.reason})`,
    metrics: [
      count('drover_gateway_retries_total', 'Requests for records that were sent to another collection worker', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
  'gateway.held': {
    level: 'debug',
    isPerCall: true,
    say: () => 'a request waits for a collection worker',
    metrics: [count('drover_gateway_held_total', 'Requests for records that waited for a collection worker')],
  },
  'gateway.refused': {
    level: (o) => (o.isLasting ? 'warn' : 'debug'),
    isPerCall: true,
    say: (o) => `request ${o.requestId} for records is refused with ${o.code}: ${o.reason}`,
    maxLines: { perSecond: 10, by: (o) => o.code },
    metrics: [
      count('drover_gateway_refused_total', 'Requests for records that the gateway answered with an error itself', {
        labelNames: ['code'],
        labels: (o) => ({ code: o.code }),
      }),
    ],
  },
};

/** What the metrics of a gateway are read from. */
export interface CollectionFrontFigures {
  readonly endpoints: readonly CollectionEndpoint[];
  readonly routes: number;
  readonly held: number;
}

export function collectionFrontMetrics(figures: () => CollectionFrontFigures): ComputedMetric[] {
  return [
    {
      name: 'drover_gateway_endpoints',
      help: 'Collection workers that routes name, by the state in which this gateway sees them',
      type: 'gauge',
      labelNames: ['worker', 'state'],
      read: () => figures().endpoints.map(({ id, state }) => ({ labels: { worker: id, state }, value: 1 })),
    },
    {
      name: 'drover_gateway_in_flight',
      help: 'Requests for records that a collection worker has not answered',
      type: 'gauge',
      labelNames: ['worker'],
      read: () => figures().endpoints.map(({ id, inFlight }) => ({ labels: { worker: id }, value: inFlight })),
    },
    {
      name: 'drover_gateway_held_requests',
      help: 'Requests for records that wait for a collection worker',
      type: 'gauge',
      labelNames: [],
      read: () => [{ labels: {}, value: figures().held }],
    },
    {
      name: 'drover_gateway_routes',
      help: 'Collections whose workers the gateway knows',
      type: 'gauge',
      labelNames: [],
      read: () => [{ labels: {}, value: figures().routes }],
    },
  ];
}

/** Of a gateway with a process of its own, beside those of `composeCollectionFront`. */
export type GatewayObservation =
  | DatabaseObservation
  | EventBusObservation
  | ApiObservation
  | { readonly kind: 'gateway.schema-awaited' };

export const gatewayReaders: Readers<GatewayObservation> = {
  ...databaseReaders,
  ...eventBusReaders,
  ...apiReaders,
  'gateway.schema-awaited': {
    level: 'info',
    say: () => 'waiting for the tables of routes, which the control plane creates',
    isInternal: true,
  },
};
