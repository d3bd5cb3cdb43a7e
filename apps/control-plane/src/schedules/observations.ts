import { count, type Readers } from '@drover/service-kit';

export type ScheduleObservation =
  | {
      readonly kind: 'schedule.run';
      readonly tenantId: string;
      readonly function: string;
      readonly executionId: string;
      readonly scheduledAt: string;
    }
  | {
      readonly kind: 'schedule.refused';
      readonly tenantId: string;
      readonly function: string;
      readonly error: unknown;
    }
  | { readonly kind: 'schedule.check-failed'; readonly error: unknown };

export const scheduleReaders: Readers<ScheduleObservation> = {
  'schedule.run': {
    level: 'debug',
    say: (o) => `the schedule of function ${o.function} of tenant ${o.tenantId} started execution ${o.executionId}`,
    metrics: [
      count('drover_schedule_runs_total', 'Executions that schedules have started', {
        labelNames: [],
        labels: () => ({}),
      }),
    ],
  },
  'schedule.refused': {
    level: 'warn',
    say: (o) =>
      `a run of the schedule of function ${o.function} of tenant ${o.tenantId} was not accepted: ${String(o.error)}; it is tried again`,
  },
  'schedule.check-failed': {
    level: 'warn',
    say: (o) => `schedules could not be checked: ${String(o.error)}; they are checked again in a moment`,
  },
};
