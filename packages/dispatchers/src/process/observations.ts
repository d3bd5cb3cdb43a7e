import { count, seconds, type Readers } from '@drover/service-kit';
import type { JobEnd } from './job-runner.js';

interface JobIdentity {
  readonly function: string;
  readonly executionId: string;
  readonly attempt: number;
}

export type JobObservation =
  | { readonly kind: 'job.enabled'; readonly uid: number | undefined; readonly isPlatformUser: boolean }
  | ({ readonly kind: 'job.started' } & JobIdentity)
  | ({ readonly kind: 'job.ended'; readonly end: JobEnd['kind']; readonly durationMs: number } & JobIdentity)
  | { readonly kind: 'job.refused'; readonly function: string; readonly running: number };

export const jobReaders: Readers<JobObservation> = {
  'job.enabled': {
    level: (o) => (o.isPlatformUser ? 'warn' : 'info'),
    say: (o) =>
      o.isPlatformUser
        ? `Jobs of functions run as the user of the platform (uid ${o.uid}) and can read all that it can read: keys, the database password, the data directory. Give the scope functions:commands to trusted keys only, or start Drover as root, which runs jobs as another user (DROVER_FUNCTIONS_USER).`
        : `Jobs of functions run as uid ${o.uid}, without access to the files of the platform.`,
  },
  'job.started': { level: 'debug', say: (o) => `job of function ${o.function} for execution ${o.executionId} started` },
  'job.ended': {
    level: 'debug',
    say: (o) => `job of function ${o.function} for execution ${o.executionId} ended: ${o.end}`,
    metrics: [
      seconds('drover_job_seconds', 'From the request for a job to its end', {
        labelNames: ['end'],
        labels: (o) => ({ end: o.end }),
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'job.refused': {
    level: 'warn',
    say: (o) => `no job for function ${o.function}: ${o.running} jobs are running, the maximum (DROVER_MAX_JOBS)`,
    metrics: [count('drover_jobs_refused_total', 'Attempts refused because the maximum number of jobs was running')],
  },
};
