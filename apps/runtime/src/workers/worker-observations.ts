import { count, seconds, type Readers } from '@drover/service-kit';

export type FunctionWorkerObservation =
  | {
      readonly kind: 'worker.connected';
      readonly workerId: string;
      readonly application: string | undefined;
      readonly address: string;
    }
  | { readonly kind: 'worker.moved'; readonly workerId: string; readonly from: string; readonly to: string }
  | { readonly kind: 'worker.lost'; readonly workerId: string; readonly inFlight: number; readonly reason: string }
  | { readonly kind: 'worker.ended'; readonly workerId: string; readonly inFlight: number; readonly reason: string }
  | { readonly kind: 'worker.hung'; readonly workerId: string; readonly silentMs: number }
  | { readonly kind: 'worker.alive'; readonly workerId: string; readonly durationMs: number }
  | { readonly kind: 'worker.backpressure'; readonly workerId: string; readonly queuedBytes: number }
  | { readonly kind: 'worker.drain-timeout'; readonly workerId: string; readonly inFlight: number }
  | { readonly kind: 'worker.unexpected'; readonly workerId: string; readonly message: string }
  | {
      readonly kind: 'worker.specialized';
      readonly workerId: string;
      readonly application: string;
      readonly durationMs: number;
      readonly steps: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'worker.unfit'; readonly workerId: string; readonly error: unknown }
  | { readonly kind: 'worker.log-dropped'; readonly workerId: string }
  | { readonly kind: 'memory.pressure'; readonly from: string; readonly to: string; readonly used: number };

export const functionWorkerReaders: Readers<FunctionWorkerObservation> = {
  'worker.connected': {
    level: 'info',
    isInternal: true,
    say: (o) => `function worker ${o.workerId} connected${o.application ? ` for ${o.application}` : ''}`,
    metrics: [count('drover_runtime_worker_connections_total', 'Function workers that connected')],
  },
  'worker.moved': { level: 'debug', say: (o) => `function worker ${o.workerId}: ${o.from} → ${o.to}` },
  'worker.lost': {
    level: 'warn',
    say: (o) => `function worker ${o.workerId} was lost with ${o.inFlight} invocations in flight: ${o.reason}`,
    metrics: [count('drover_runtime_workers_lost_total', 'Function workers that disconnected unexpectedly')],
  },
  'worker.ended': { level: 'info', isInternal: true, say: (o) => `function worker ${o.workerId} ended: ${o.reason}` },
  'worker.hung': {
    level: 'error',
    say: (o) => `function worker ${o.workerId} sent nothing for ${Math.round(o.silentMs)} ms and is abandoned`,
    metrics: [count('drover_runtime_workers_hung_total', 'Function workers abandoned after missed heartbeats')],
  },
  'worker.alive': {
    level: 'debug',
    say: (o) => `function worker ${o.workerId} answered its heartbeat in ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      seconds('drover_runtime_heartbeat_seconds', 'Response time of function workers to heartbeats', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'worker.backpressure': {
    level: 'warn',
    say: (o) => `function worker ${o.workerId} does not read its stream: ${o.queuedBytes} bytes are queued`,
    metrics: [count('drover_runtime_backpressure_events_total', 'Times the stream of a function worker was full')],
  },
  'worker.drain-timeout': {
    level: 'warn',
    say: (o) =>
      `function worker ${o.workerId} did not drain in time and is ended with ${o.inFlight} invocations in flight`,
  },
  'worker.unexpected': {
    level: 'warn',
    say: (o) => `dropped an unexpected ${o.message} message from function worker ${o.workerId}`,
    metrics: [
      count('drover_runtime_messages_unexpected_total', 'Messages of function workers without a pending request', {
        labelNames: ['message'],
        labels: (o) => ({ message: o.message }),
      }),
    ],
  },
  'worker.specialized': {
    level: 'info',
    isInternal: true,
    say: (o) => `function worker ${o.workerId} serves ${o.application} after ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      seconds('drover_runtime_specialization_seconds', 'From the first specialization request to a ready worker', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'worker.unfit': {
    level: 'error',
    say: (o) =>
      `function worker ${o.workerId} could not be specialized and is abandoned: ${o.error instanceof Error ? o.error.message : String(o.error)}`,
  },
  'worker.log-dropped': {
    level: 'debug',
    say: (o) => `dropped a log line of function worker ${o.workerId}: its log buffer is full`,
    metrics: [count('drover_runtime_logs_dropped_total', 'Log lines of function workers that were dropped')],
  },
  'memory.pressure': {
    level: (o) => (o.to === 'critical' ? 'error' : 'info'),
    say: (o) => `memory pressure: ${o.from} → ${o.to} (${Math.round(o.used * 100)} % of the limit used)`,
  },
};
