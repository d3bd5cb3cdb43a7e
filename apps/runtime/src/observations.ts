import { count, gauge, seconds, type Observe, type Readers } from '@drover/service-kit';
import { triggerSourceReaders, type TriggerSourceObservation } from '@drover/trigger-sources';
import { httpReaders, type HttpObservation } from './http/http-observations.js';
import type { WorkerLogLine } from './invocations/worker-log.js';

export type RuntimeObservation =
  | TriggerSourceObservation
  | HttpObservation
  | { readonly kind: 'rpc.listening'; readonly listener: 'loopback' | 'tls'; readonly address: string }
  | { readonly kind: 'rpc.refused'; readonly address: string; readonly reason: string }
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
      readonly kind: 'worker.requested';
      readonly application: string | undefined;
      readonly priority: string;
      readonly reason: string;
    }
  | {
      readonly kind: 'worker.specialized';
      readonly workerId: string;
      readonly application: string;
      readonly durationMs: number;
      readonly steps: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'worker.unfit'; readonly workerId: string; readonly error: unknown }
  | { readonly kind: 'worker.log'; readonly workerId: string; readonly line: WorkerLogLine }
  | { readonly kind: 'worker.log-dropped'; readonly workerId: string }
  | { readonly kind: 'process.started'; readonly workerId: string; readonly pid: number | undefined }
  | { readonly kind: 'process.ended'; readonly workerId: string; readonly text: string }
  | {
      readonly kind: 'process.line';
      readonly workerId: string;
      readonly level: WorkerLogLine['level'];
      readonly text: string;
    }
  | { readonly kind: 'process.given-up'; readonly application: string; readonly errors: number; readonly text: string }
  | { readonly kind: 'application.indexed'; readonly application: string; readonly functions: readonly string[] }
  | { readonly kind: 'application.problem'; readonly application: string; readonly problem: string }
  | {
      readonly kind: 'application.traffic';
      readonly application: string;
      readonly weights: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'job-host.started'; readonly jobHost: string }
  | { readonly kind: 'job-host.stopped'; readonly jobHost: string }
  | { readonly kind: 'job-host.saturated'; readonly jobHost: string; readonly isSaturated: boolean }
  | { readonly kind: 'job-host.failed'; readonly jobHost: string; readonly error: unknown }
  | {
      readonly kind: 'invocation.routed';
      readonly function: string;
      readonly invocationId: string;
      readonly workerId: string;
    }
  | {
      readonly kind: 'invocation.ended';
      readonly function: string;
      readonly invocationId: string;
      readonly outcome: 'succeeded' | 'failed' | 'rejected';
      readonly code: string | undefined;
      readonly durationMs: number;
    }
  | { readonly kind: 'invocation.crowded'; readonly function: string; readonly isRefused: boolean }
  | { readonly kind: 'invocation.stray'; readonly workerId: string; readonly invocationId: string }
  | { readonly kind: 'invocation.orphan'; readonly invocationId: string; readonly workerId: string }
  | {
      readonly kind: 'message.settled';
      readonly function: string;
      readonly settlement: 'complete' | 'abandon' | 'deadLetter';
      readonly deliveryCount: number;
      /** Unless it is complete. */
      readonly why: string | undefined;
    }
  | { readonly kind: 'output.failed'; readonly function: string; readonly binding: string; readonly error: unknown }
  | { readonly kind: 'memory.pressure'; readonly from: string; readonly to: string; readonly used: number };

export type RuntimeObserve = Observe<RuntimeObservation>;

const byFunction = {
  labelNames: ['function'] as const,
  labels: (o: { function: string }) => ({ function: o.function }),
};

export const runtimeReaders: Readers<RuntimeObservation> = {
  ...triggerSourceReaders,
  ...httpReaders,
  'rpc.listening': { level: 'info', say: (o) => `function workers are taken on ${o.address} (${o.listener})` },
  'rpc.refused': {
    level: 'warn',
    say: (o) => `refused a stream from ${o.address}: ${o.reason}`,
    metrics: [count('drover_runtime_streams_refused_total', 'Streams of function workers that were refused')],
  },
  'worker.connected': {
    level: 'info',
    say: (o) => `function worker ${o.workerId} connected${o.application ? ` for ${o.application}` : ''}`,
    metrics: [count('drover_runtime_worker_connections_total', 'Function workers that connected')],
  },
  'worker.moved': { level: 'debug', say: (o) => `function worker ${o.workerId}: ${o.from} → ${o.to}` },
  'worker.lost': {
    level: 'warn',
    say: (o) => `function worker ${o.workerId} was lost with ${o.inFlight} invocations: ${o.reason}`,
    metrics: [count('drover_runtime_workers_lost_total', 'Function workers that went away without being told to')],
  },
  'worker.ended': { level: 'info', say: (o) => `function worker ${o.workerId} ended: ${o.reason}` },
  'worker.hung': {
    level: 'error',
    say: (o) => `function worker ${o.workerId} was silent for ${Math.round(o.silentMs)} ms and is given up`,
    metrics: [
      count('drover_runtime_workers_hung_total', 'Function workers that were given up because they were silent'),
    ],
  },
  'worker.alive': {
    level: 'debug',
    say: (o) => `function worker ${o.workerId} answered in ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      seconds('drover_runtime_heartbeat_seconds', 'How long function workers take to answer that they live', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'worker.backpressure': {
    level: 'warn',
    say: (o) => `function worker ${o.workerId} does not read: ${o.queuedBytes} bytes wait for it`,
    metrics: [count('drover_runtime_backpressure_events_total', 'Times that a function worker did not keep up')],
  },
  'worker.drain-timeout': {
    level: 'warn',
    say: (o) => `function worker ${o.workerId} did not finish ${o.inFlight} invocations in time and is ended`,
  },
  'worker.unexpected': {
    level: 'warn',
    say: (o) => `function worker ${o.workerId} sent ${o.message}, which nobody waits for; it was dropped`,
    metrics: [
      count('drover_runtime_messages_unexpected_total', 'Messages of function workers that nobody waited for', {
        labelNames: ['message'],
        labels: (o) => ({ message: o.message }),
      }),
    ],
  },
  'worker.requested': {
    level: 'info',
    say: (o) =>
      `a function worker is asked for (${o.priority}, ${o.reason})${o.application ? ` for ${o.application}` : ''}`,
    metrics: [
      count('drover_runtime_workers_requested_total', 'Function workers that were asked for', {
        labelNames: ['reason'],
        labels: (o) => ({ reason: o.reason }),
      }),
    ],
  },
  'worker.specialized': {
    level: 'info',
    say: (o) => `function worker ${o.workerId} runs ${o.application} after ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      seconds('drover_runtime_specialization_seconds', 'From the request to a function worker that is ready', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'worker.unfit': {
    level: 'error',
    say: (o) =>
      `function worker ${o.workerId} cannot be used: ${o.error instanceof Error ? o.error.message : String(o.error)}`,
  },
  'worker.log': { level: (o) => o.line.level, say: (o) => o.line.text },
  'worker.log-dropped': {
    level: 'debug',
    say: (o) => `a log line of function worker ${o.workerId} was dropped: it sends more than is taken`,
    metrics: [count('drover_runtime_logs_dropped_total', 'Log lines of function workers that were dropped')],
  },
  'process.started': { level: 'info', say: (o) => `started function worker ${o.workerId} (pid ${o.pid ?? 'none'})` },
  'process.ended': { level: 'info', say: (o) => `the process of function worker ${o.workerId} ended: ${o.text}` },
  'process.line': { level: (o) => o.level, say: (o) => o.text },
  'process.given-up': {
    level: 'error',
    say: (o) => `function workers of ${o.application} failed ${o.errors} times: ${o.text}`,
  },
  'application.indexed': {
    level: 'info',
    say: (o) => `${o.application} has ${o.functions.length} functions: ${o.functions.join(', ')}`,
  },
  'application.problem': { level: 'error', say: (o) => `${o.application}: ${o.problem}` },
  'application.traffic': { level: 'info', say: (o) => `traffic of ${o.application}: ${JSON.stringify(o.weights)}` },
  'job-host.started': { level: 'info', say: (o) => `job host ${o.jobHost} runs` },
  'job-host.stopped': { level: 'info', say: (o) => `job host ${o.jobHost} stopped` },
  'job-host.saturated': {
    level: 'debug',
    say: (o) => `job host ${o.jobHost} ${o.isSaturated ? 'takes nothing more for now' : 'takes work again'}`,
    metrics: [
      gauge('drover_runtime_job_host_saturated', 'Whether all function workers of a job host are busy', {
        labelNames: ['job_host'],
        labels: (o) => ({ job_host: o.jobHost }),
        value: (o) => (o.isSaturated ? 1 : 0),
      }),
    ],
  },
  'job-host.failed': { level: 'error', say: (o) => `job host ${o.jobHost} failed: ${String(o.error)}` },
  'invocation.routed': {
    level: 'debug',
    say: (o) => `${o.function} ${o.invocationId} runs on ${o.workerId}`,
    metrics: [
      count('drover_runtime_invocations_routed_total', 'Invocations that were sent to a function worker', byFunction),
    ],
  },
  'invocation.ended': {
    level: 'debug',
    say: (o) => `${o.function} ${o.invocationId} ${o.outcome} after ${o.durationMs.toFixed(1)} ms`,
    metrics: [
      seconds('drover_runtime_invocation_seconds', 'From the call of a function to its end, waiting included', {
        labelNames: ['function', 'outcome'],
        labels: (o) => ({ function: o.function, outcome: o.outcome }),
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'invocation.crowded': {
    level: 'debug',
    say: (o) => `${o.function} ${o.isRefused ? 'was turned away' : 'has to wait'}: no function worker has room`,
    metrics: [
      count('drover_runtime_invocations_crowded_total', 'Invocations that had to wait or were turned away', {
        labelNames: ['refused'],
        labels: (o) => ({ refused: String(o.isRefused) }),
      }),
    ],
  },
  'invocation.stray': {
    level: 'warn',
    say: (o) => `function worker ${o.workerId} answered ${o.invocationId}, which it does not have (any more)`,
    metrics: [count('drover_runtime_responses_stray_total', 'Responses to unknown or finished invocations')],
  },
  'invocation.orphan': {
    level: 'error',
    say: (o) => `invocation ${o.invocationId} on ${o.workerId} was forgotten by its timer and is ended`,
  },
  'message.settled': {
    level: (o) => (o.settlement === 'complete' ? 'debug' : 'warn'),
    say: (o) =>
      `a message of ${o.function} was settled: ${o.settlement}${o.why === undefined ? '' : ` (delivery ${o.deliveryCount}): ${o.why}`}`,
    metrics: [
      count('drover_runtime_messages_settled_total', 'Messages of triggers by what became of them', {
        labelNames: ['function', 'settlement'],
        labels: (o) => ({ function: o.function, settlement: o.settlement }),
      }),
      count('drover_runtime_messages_redelivered_total', 'Messages that were not handed out for the first time', {
        labelNames: ['function'],
        labels: (o) => ({ function: o.function }),
        value: (o) => (o.deliveryCount > 1 ? 1 : 0),
      }),
    ],
  },
  'output.failed': {
    level: 'error',
    say: (o) => `the output ${o.binding} of ${o.function} could not be written: ${String(o.error)}`,
  },
  'memory.pressure': {
    level: (o) => (o.to === 'critical' ? 'error' : 'info'),
    say: (o) => `memory: ${o.from} → ${o.to} (${Math.round(o.used * 100)} % used)`,
  },
};
