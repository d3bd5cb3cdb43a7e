import { count, type Readers } from '@drover/service-kit';
import type { WorkerLogLine } from '../invocations/worker-log.js';

export type WorkerProcessObservation =
  | {
      readonly kind: 'worker.requested';
      readonly application: string | undefined;
      readonly priority: string;
      readonly reason: string;
    }
  | { readonly kind: 'process.started'; readonly workerId: string; readonly pid: number | undefined }
  | { readonly kind: 'process.unconnected'; readonly workerId: string; readonly timeoutMs: number }
  | { readonly kind: 'process.ended'; readonly workerId: string; readonly text: string }
  | {
      readonly kind: 'process.line';
      readonly workerId: string;
      readonly level: WorkerLogLine['level'];
      readonly text: string;
    }
  | { readonly kind: 'process.given-up'; readonly application: string; readonly errors: number; readonly text: string };

export const workerProcessReaders: Readers<WorkerProcessObservation> = {
  'worker.requested': {
    level: 'info',
    isInternal: true,
    say: (o) =>
      `requested a function worker${o.application ? ` for ${o.application}` : ''} (${o.priority}, ${o.reason})`,
    metrics: [
      count('drover_runtime_workers_requested_total', 'Function workers that were requested', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
  'process.started': {
    level: 'info',
    isInternal: true,
    say: (o) => `started function worker ${o.workerId} (pid ${o.pid ?? 'none'})`,
  },
  'process.unconnected': {
    level: 'error',
    say: (o) =>
      `function worker ${o.workerId} did not connect within ${o.timeoutMs} ms and is ended; DROVER_WORKER_START_TIMEOUT_MS sets the limit`,
  },
  'process.ended': {
    level: 'info',
    isInternal: true,
    say: (o) => `the process of function worker ${o.workerId} ended: ${o.text}`,
  },
  'process.line': { level: (o) => o.level, say: (o) => o.text },
  'process.given-up': {
    level: 'error',
    say: (o) =>
      `function workers of ${o.application} failed ${o.errors} times, and are started again every few seconds: ${o.text}`,
  },
};
