import { count, type Readers } from '@drover/service-kit';

/**
 * - notification: an emulator, or the source itself, told
 * - output: an output of this runtime wrote to the source
 * - schedule: a timer is due
 * - poll: the source was asked
 */
export type NoticedBy = 'notification' | 'output' | 'schedule' | 'poll';

export type TriggerWatchObservation =
  | {
      readonly kind: 'watch.noticed';
      readonly application: string;
      readonly functionName: string;
      readonly by: NoticedBy;
    }
  /** Once until a check succeeds again. */
  | { readonly kind: 'watch.check-failed'; readonly source: string; readonly reason: string }
  | { readonly kind: 'watch.check-recovered'; readonly source: string; readonly afterMs: number }
  | { readonly kind: 'watch.endpoint-connected'; readonly origin: string }
  | { readonly kind: 'watch.endpoint-lost'; readonly origin: string; readonly reason: string };

export const triggerWatchReaders: Readers<TriggerWatchObservation> = {
  'watch.noticed': {
    level: 'info',
    isInternal: true,
    say: (o) => `application ${o.application} has work for ${o.functionName}, noticed by ${o.by}`,
    metrics: [
      count('drover_watch_noticed_total', 'Applications without a worker that work was noticed for', {
        labelNames: ['by'],
        labels: (o) => ({ by: o.by }),
      }),
    ],
  },
  'watch.check-failed': {
    level: 'warn',
    say: (o) =>
      `cannot see whether ${o.source} has work for a parked application: ${o.reason}. It is asked again until it answers`,
    metrics: [count('drover_watch_check_failures_total', 'Times the source of a parked application stopped answering')],
  },
  'watch.check-recovered': {
    level: 'info',
    say: (o) => `${o.source} answers again, after ${Math.round(o.afterMs)} ms`,
  },
  'watch.endpoint-connected': {
    level: 'debug',
    isInternal: true,
    say: (o) => `the emulator at ${o.origin} tells about work of parked applications`,
  },
  'watch.endpoint-lost': {
    level: 'debug',
    isInternal: true,
    say: (o) => `no notifications from ${o.origin}: ${o.reason}. Its sources are polled meanwhile`,
  },
};
