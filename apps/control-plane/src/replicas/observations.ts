import { count, type Readers } from '@drover/service-kit';

export type ReplicaObservation = {
  readonly kind: 'replica.unreachable';
  readonly url: string;
  readonly reason: string;
};

export const replicaReaders: Readers<ReplicaObservation> = {
  'replica.unreachable': {
    level: 'warn',
    say: (o) => `a request could not be forwarded to the replica at ${o.url}: ${o.reason}`,
    metrics: [
      count(
        'drover_home_unreachable_total',
        'Requests that could not be forwarded to the replica that owns their partition',
      ),
    ],
  },
};
