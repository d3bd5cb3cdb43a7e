import { count, seconds, type Readers } from '@drover/service-kit';
import type { PlacementNote } from '../placement/placement-types.js';

export type TermObservation =
  | PlacementNote
  | {
      readonly kind: 'scale.decided';
      readonly application: string;
      readonly from: number;
      readonly to: number;
      readonly cause: string;
      readonly isOscillation: boolean;
    }
  | { readonly kind: 'scale.adopted'; readonly token: number; readonly durationMs: number }
  | { readonly kind: 'scale.pass'; readonly durationMs: number; readonly applications: number }
  | { readonly kind: 'scale.call-failed'; readonly call: string; readonly instanceId: string; readonly reason: string }
  | { readonly kind: 'scale.state-unwritten'; readonly reason: string }
  | { readonly kind: 'scale.application-unusable'; readonly application: string; readonly reason: string };

const direction = (o: { readonly from: number; readonly to: number }): string => (o.to > o.from ? 'up' : 'down');

export const termReaders: Readers<TermObservation> = {
  'placement.specialized': {
    level: 'debug',
    say: (o) => `placeholder ${o.workerId} becomes a worker of ${o.versionKey}`,
    metrics: [count('drover_scale_placeholders_used_total', 'Placeholders that were given an application')],
  },
  'placement.pool-missed': {
    level: 'debug',
    say: (o) => `no placeholder was free for ${o.versionKey}: worker ${o.workerId} is a cold start`,
    metrics: [count('drover_scale_pool_misses_total', 'Workers that were needed when no placeholder was free')],
  },
  'placement.ready': {
    level: 'info',
    isInternal: true,
    say: (o) => `worker ${o.workerId} of ${o.versionKey} is ready after ${Math.round(o.tookMs)} ms`,
    metrics: [
      seconds('drover_scale_worker_start_seconds', 'From the decision for a worker until it is ready', {
        valueMs: (o) => o.tookMs,
      }),
    ],
  },
  'placement.idle': {
    level: 'debug',
    say: (o) => `placeholder ${o.workerId} is idle after ${Math.round(o.tookMs)} ms`,
  },
  'placement.lost': {
    level: 'warn',
    say: (o) =>
      `lost worker ${o.workerId} of ${o.versionKey ?? 'the placeholder pool'} (urgency ${o.urgency}): ${o.reason}`,
    metrics: [
      count('drover_scale_workers_lost_total', 'Workers that ended without being told to', {
        labelNames: ['urgency'],
        labels: (o) => ({ urgency: o.urgency }),
      }),
    ],
  },
  'placement.orphan-ended': {
    level: 'warn',
    say: (o) => `ended the instance ${o.instanceId}: ${o.reason}`,
    metrics: [count('drover_scale_orphans_total', 'Instances that were ended because no scale controller knew them')],
  },
  'placement.adopted': {
    level: 'info',
    isInternal: true,
    say: (o) => `adopted ${o.workers} workers of the leader before, and ended ${o.orphans} orphans`,
  },
  'placement.moved': {
    level: 'warn',
    say: (o) => `${o.application} moves from runtime ${o.from}, which is away, to ${o.to}`,
  },
  'placement.command-failed': {
    level: 'warn',
    say: (o) => `a runtime refused the command ${o.command} with ${o.code}: ${o.reason}`,
    maxLines: { perSecond: 5, by: (o) => o.code },
  },
  'scale.decided': {
    level: 'info',
    isInternal: true,
    say: (o) => `${o.application}: ${o.from} → ${o.to} workers (${o.cause})`,
    metrics: [
      count('drover_scale_decisions_total', 'Decisions that changed the number of workers of an application', {
        labelNames: ['rule', 'direction'],
        labels: (o) => ({ rule: o.cause, direction: direction(o) }),
      }),
      count('drover_scale_oscillations_total', 'Changes that undid a recent one', {
        value: (o) => (o.isOscillation ? 1 : 0),
      }),
    ],
  },
  'scale.adopted': {
    level: 'info',
    isInternal: true,
    say: (o) => `acts as the leader with token ${o.token} after ${o.durationMs.toFixed(0)} ms`,
  },
  'scale.pass': {
    level: 'debug',
    say: (o) => `decided about ${o.applications} applications in ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      seconds('drover_scale_pass_seconds', 'A pass of the decision loop over all applications', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'scale.call-failed': {
    level: 'warn',
    say: (o) => `the provider of instances failed to ${o.call} ${o.instanceId}: ${o.reason}`,
    maxLines: { perSecond: 5, by: (o) => o.call },
  },
  'scale.state-unwritten': {
    level: 'warn',
    say: (o) => `the desired state could not be written, and is tried again: ${o.reason}`,
    maxLines: { perSecond: 1, by: () => '' },
  },
  'scale.application-unusable': {
    level: 'error',
    say: (o) => `${o.application} cannot be hosted: ${o.reason}`,
  },
};
