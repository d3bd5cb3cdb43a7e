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
      /** From the answer of the database until everything unfinished was taken up. */
      readonly durationMs: number;
      readonly here: number;
    }
  | { readonly kind: 'ownership.recovery-failed'; readonly partitions: readonly number[]; readonly error: unknown }
  | {
      readonly kind: 'ownership.released';
      readonly partitions: readonly number[];
      readonly here: number;
    }
  | {
      readonly kind: 'ownership.lost';
      readonly partitions: readonly number[];
      readonly reason: 'taken' | 'not-renewed' | 'overdue' | 'not-recovered' | 'stopped';
      readonly here: number;
    }
  | { readonly kind: 'ownership.replica-evicted'; readonly replicaId: string }
  | { readonly kind: 'ownership.poll-failed'; readonly error: unknown }
  | { readonly kind: 'ownership.poll-recovered' };

const hereGauge = gauge<{ readonly here: number }>(
  'drover_home_partitions',
  'Partitions of functions whose home is this replica',
  { value: (o) => o.here },
);

export const ownershipReaders: Readers<OwnershipObservation> = {
  'ownership.joined': { level: 'info', say: (o) => `joined as replica ${o.replicaId}, reached at ${o.url}` },
  'ownership.partition-moved': {
    level: 'debug',
    say: (o) => `partition ${o.partition} went from ${o.from} to ${o.to}`,
    metrics: [
      count('drover_home_moves_total', 'Changes of a partition, as this replica sees it', {
        labelNames: ['to'],
        labels: (o) => ({ to: o.to }),
      }),
    ],
  },
  'ownership.acquired': {
    level: 'info',
    say: (o) => `is the home of ${describe(o.partitions)} now, ready after ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      hereGauge,
      seconds('drover_home_recovery_seconds', 'From becoming the home of partitions to serving them', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'ownership.recovery-failed': {
    level: 'error',
    say: (o) => `could not take up ${describe(o.partitions)}, tries again: ${String(o.error)}`,
  },
  'ownership.released': { level: 'info', say: (o) => `handed over ${describe(o.partitions)}`, metrics: [hereGauge] },
  'ownership.lost': {
    level: (o) => (o.reason === 'stopped' ? 'info' : 'warn'),
    say: (o) => `is no longer the home of ${describe(o.partitions)} (${o.reason})`,
    metrics: [
      hereGauge,
      count('drover_homes_lost_total', 'Partitions that this replica had to drop without a handover', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
        value: (o) => o.partitions.length,
      }),
    ],
  },
  'ownership.replica-evicted': {
    level: 'warn',
    say: (o) => `replica ${o.replicaId} is gone: its partitions are free for others`,
    metrics: [count('drover_replicas_gone_total', 'Replicas that ended without handing over, noticed by this one')],
  },
  'ownership.poll-failed': {
    level: 'warn',
    say: (o) => `cannot look after ownership, goes on with what it knows: ${String(o.error)}`,
  },
  'ownership.poll-recovered': { level: 'info', say: () => 'looks after ownership again' },
};

function describe(partitions: readonly number[]): string {
  return `${partitions.length === 1 ? 'partition' : 'partitions'} ${partitions.join(', ')}`;
}
