import { count, seconds, type Readers } from '@drover/service-kit';
import type { JobEnd } from './job-runner.js';

interface OfJob {
  readonly function: string;
  readonly executionId: string;
  readonly attempt: number;
}

export type JobObservation =
  | ({ readonly kind: 'job.started' } & OfJob)
  | ({ readonly kind: 'job.ended'; readonly end: JobEnd['kind']; readonly durationMs: number } & OfJob)
  | { readonly kind: 'job.refused'; readonly function: string; readonly running: number };

export const jobReaders: Readers<JobObservation> = {
  'job.started': { level: 'debug', say: (o) => `job of function ${o.function} for execution ${o.executionId} begins` },
  'job.ended': {
    level: 'debug',
    say: (o) => `job of function ${o.function} for execution ${o.executionId} has ended: ${o.end}`,
    metrics: [
      seconds('drover_job_seconds', 'From asking for a job to its end', {
        labelNames: ['end'],
        labels: (o) => ({ end: o.end }),
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'job.refused': {
    level: 'warn',
    say: (o) =>
      `no job for function ${o.function}: ${o.running} run already, which is as many as may (DROVER_MAX_JOBS)`,
    metrics: [count('drover_jobs_refused_total', 'Attempts that found as many jobs as may run')],
  },
};
