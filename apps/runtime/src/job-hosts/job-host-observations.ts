import { gauge, type Readers } from '@drover/service-kit';

export type JobHostObservation =
  | { readonly kind: 'job-host.started'; readonly jobHost: string }
  | { readonly kind: 'job-host.stopped'; readonly jobHost: string }
  | { readonly kind: 'job-host.saturated'; readonly jobHost: string; readonly isSaturated: boolean }
  | { readonly kind: 'job-host.failed'; readonly jobHost: string; readonly error: unknown };

export const jobHostReaders: Readers<JobHostObservation> = {
  'job-host.started': { level: 'debug', say: (o) => `job host ${o.jobHost} runs` },
  'job-host.stopped': { level: 'debug', say: (o) => `job host ${o.jobHost} stopped` },
  'job-host.saturated': {
    level: 'debug',
    say: (o) => `job host ${o.jobHost} ${o.isSaturated ? 'is saturated' : 'has free function workers again'}`,
    metrics: [
      gauge('drover_runtime_job_host_saturated', 'Whether all function workers of a job host are busy', {
        labelNames: ['job_host'],
        labels: (o) => ({ job_host: o.jobHost }),
        value: (o) => (o.isSaturated ? 1 : 0),
      }),
    ],
  },
  'job-host.failed': { level: 'error', say: (o) => `job host ${o.jobHost} failed: ${String(o.error)}` },
};
