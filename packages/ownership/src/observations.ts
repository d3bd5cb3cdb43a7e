import { count, gauge, seconds, type Readers } from '@drover/service-kit';

export type HomesObservation =
  | { readonly kind: 'homes.joined'; readonly replicaId: string; readonly url: string }
  | { readonly kind: 'homes.partition-moved'; readonly partition: number; readonly from: string; readonly to: string }
  | {
      readonly kind: 'homes.gained';
      readonly partitions: readonly number[];
      /** From the answer of the database until everything unfinished was taken up. */
      readonly durationMs: number;
      readonly here: number;
    }
  | { readonly kind: 'homes.not-recovered'; readonly partitions: readonly number[]; readonly error: unknown }
  | {
      readonly kind: 'homes.left';
      readonly partitions: readonly number[];
      readonly here: number;
    }
  | {
      readonly kind: 'homes.lost';
      readonly partitions: readonly number[];
      readonly reason: 'taken' | 'not-renewed' | 'overdue' | 'not-recovered' | 'stopped';
      readonly here: number;
    }
  | { readonly kind: 'homes.replica-gone'; readonly replicaId: string }
  | { readonly kind: 'homes.unsteady'; readonly error: unknown }
  | { readonly kind: 'homes.steady' }
  | { readonly kind: 'homes.unreachable'; readonly url: string; readonly reason: string };

const hereGauge = gauge<{ readonly here: number }>(
  'drover_home_partitions',
  'Partitions of functions whose home is this replica',
  { value: (o) => o.here },
);

export const homesReaders: Readers<HomesObservation> = {
  'homes.joined': { level: 'info', say: (o) => `joined as replica ${o.replicaId}, reached at ${o.url}` },
  'homes.partition-moved': {
    level: 'debug',
    say: (o) => `partition ${o.partition} went from ${o.from} to ${o.to}`,
    metrics: [
      count('drover_home_moves_total', 'Changes of a partition, as this replica sees it', {
        labelNames: ['to'],
        labels: (o) => ({ to: o.to }),
      }),
    ],
  },
  'homes.gained': {
    level: 'info',
    say: (o) => `is the home of ${describe(o.partitions)} now, ready after ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      hereGauge,
      seconds('drover_home_recovery_seconds', 'From becoming the home of partitions to serving them', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'homes.not-recovered': {
    level: 'error',
    say: (o) => `could not take up ${describe(o.partitions)}, tries again: ${String(o.error)}`,
  },
  'homes.left': { level: 'info', say: (o) => `handed over ${describe(o.partitions)}`, metrics: [hereGauge] },
  'homes.lost': {
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
  'homes.replica-gone': {
    level: 'warn',
    say: (o) => `replica ${o.replicaId} is gone: its partitions are free for others`,
    metrics: [count('drover_replicas_gone_total', 'Replicas that ended without handing over, noticed by this one')],
  },
  'homes.unsteady': {
    level: 'warn',
    say: (o) => `cannot look after homes, goes on with what it knows: ${String(o.error)}`,
  },
  'homes.steady': { level: 'info', say: () => 'looks after homes again' },
  'homes.unreachable': {
    level: 'warn',
    say: (o) => `could not pass a request on to ${o.url}: ${o.reason}`,
    metrics: [
      count('drover_home_unreachable_total', 'Requests that could not be passed on to the replica that has them'),
    ],
  },
};

function describe(partitions: readonly number[]): string {
  return `${partitions.length === 1 ? 'partition' : 'partitions'} ${partitions.join(', ')}`;
}
