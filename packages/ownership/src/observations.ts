import { count, gauge, seconds, type Readers } from '@drover/service-kit';

export type OwnershipObservation =
  | { readonly kind: 'ownership.joined'; readonly replicaId: string; readonly url: string }
  | {
      readonly kind: 'ownership.partition-moved';
      readonly partition: number;
      readonly from: string;
      readonly to: string;
    }
  | {
      readonly kind: 'ownership.acquired';
      readonly partitions: readonly number[];
      /** From the answer of the database until the unfinished work was recovered. */
      readonly durationMs: number;
      readonly owned: number;
    }
  | { readonly kind: 'ownership.recovery-failed'; readonly partitions: readonly number[]; readonly error: unknown }
  | {
      readonly kind: 'ownership.released';
      readonly partitions: readonly number[];
      readonly owned: number;
    }
  | {
      readonly kind: 'ownership.lost';
      readonly partitions: readonly number[];
      readonly reason: 'taken' | 'not-renewed' | 'overdue' | 'not-recovered' | 'stopped';
      readonly owned: number;
    }
  | { readonly kind: 'ownership.resumed'; readonly partitions: readonly number[] }
  | { readonly kind: 'ownership.replica-evicted'; readonly replicaId: string }
  | { readonly kind: 'ownership.poll-failed'; readonly error: unknown }
  | { readonly kind: 'ownership.poll-recovered' };

const ownedGauge = gauge<{ readonly owned: number }>('drover_home_partitions', 'Partitions that this replica owns', {
  value: (o) => o.owned,
});

export const ownershipReaders: Readers<OwnershipObservation> = {
  'ownership.joined': { level: 'debug', say: (o) => `this process joined as replica ${o.replicaId} at ${o.url}` },
  'ownership.partition-moved': {
    level: 'debug',
    say: (o) => `partition ${o.partition} changed from ${o.from} to ${o.to}`,
    metrics: [
      count('drover_home_moves_total', 'State changes of partitions on this replica', {
        labelNames: ['to'],
        labels: (o) => ({ to: o.to }),
      }),
    ],
  },
  'ownership.acquired': {
    level: 'debug',
    say: (o) => `this replica acquired ${describe(o.partitions)} and recovered in ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      ownedGauge,
      seconds('drover_home_recovery_seconds', 'Time from acquiring partitions to serving them', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'ownership.recovery-failed': {
    level: 'error',
    say: (o) => `the recovery of ${describe(o.partitions)} failed and is retried: ${String(o.error)}`,
  },
  'ownership.released': {
    level: 'debug',
    say: (o) => `this replica released ${describe(o.partitions)}`,
    metrics: [ownedGauge],
  },
  'ownership.lost': {
    level: (o) => (o.reason === 'stopped' ? 'debug' : 'warn'),
    say: (o) => `this replica lost ${describe(o.partitions)} (${o.reason})`,
    metrics: [
      ownedGauge,
      count('drover_homes_lost_total', 'Partitions that this replica lost without a handover', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
        value: (o) => o.partitions.length,
      }),
    ],
  },
  'ownership.resumed': {
    level: 'info',
    say: (o) => `the lease of this replica was over for a while; it goes on with ${describe(o.partitions)}`,
  },
  'ownership.replica-evicted': {
    level: 'warn',
    say: (o) => `replica ${o.replicaId} has failed and was evicted; other replicas acquire its partitions`,
    metrics: [count('drover_replicas_gone_total', 'Failed replicas that this replica evicted')],
  },
  'ownership.poll-failed': {
    level: 'warn',
    say: (o) =>
      `the owners of partitions cannot be read; this replica continues with those it knows: ${String(o.error)}`,
  },
  'ownership.poll-recovered': { level: 'info', say: () => 'the owners of partitions can be read again' },
};

function describe(partitions: readonly number[]): string {
  return `${partitions.length === 1 ? 'partition' : 'partitions'} ${partitions.join(', ')}`;
}
