import { count, type Readers } from '@drover/service-kit';
import type { BreakerState } from './circuit-breaker.js';

export type EndpointObservation = {
  readonly kind: 'endpoint.breaker-moved';
  /** Without path and query, which may contain keys. */
  readonly origin: string;
  readonly tenantId: string;
  readonly from: BreakerState;
  readonly to: BreakerState;
};

export const endpointReaders: Readers<EndpointObservation> = {
  'endpoint.breaker-moved': {
    level: (o) => (o.to === 'open' ? 'warn' : 'info'),
    say: (o) =>
      o.to === 'open'
        ? `endpoint ${o.origin} of tenant ${o.tenantId} cannot be reached: the circuit breaker is open`
        : `endpoint ${o.origin} of tenant ${o.tenantId}: the circuit breaker moved from ${o.from} to ${o.to}`,
    metrics: [
      count('drover_endpoint_breaker_moves_total', 'State changes of circuit breakers of endpoints', {
        labelNames: ['to'],
        labels: (o) => ({ to: o.to }),
      }),
    ],
  },
};
