import type { ComputedMetric, Histogram, Labels, Sample } from '@drover/service-kit';
import type { InvocationEngine } from './engine.js';
import type { FunctionQueue } from './function-queue.js';

type MeasuredEngine = Pick<InvocationEngine, 'queues' | 'live' | 'sync' | 'sweeper' | 'runner'>;
type ReadEngine = () => MeasuredEngine;

const labelNames = ['tenant', 'function'];
const units = [
  { suffix: 'seconds', perMs: 0.001 },
  { suffix: 'ms', perMs: 1 },
];

/** Metrics per function and of synchronous calls, under names that dashboards of similar systems use. */
export function engineMetrics(engine: ReadEngine): ComputedMetric[] {
  return [
    ...functionCounters(engine),
    ...functionGauges(engine),
    ...functionDurations(engine),
    ...syncCallMetrics(engine),
    ...replicaMetrics(engine),
  ];
}

function functionCounters(engine: ReadEngine): ComputedMetric[] {
  const counter = (name: string, help: string, read: (queue: FunctionQueue) => number): ComputedMetric =>
    perFunction(engine, 'counter', name, help, read);
  return [
    counter('function_enqueue_total', 'Accepted calls', ({ metrics }) => metrics.enqueued),
    counter('function_dispatch_total', 'Started attempts', ({ metrics }) => metrics.dispatched),
    counter('function_success_total', 'Executions that succeeded', ({ metrics }) => metrics.succeeded),
    counter('function_error_total', 'Executions that failed or timed out', ({ metrics }) => metrics.failed),
    counter('function_retry_total', 'Attempts after the first', ({ metrics }) => metrics.retried),
    counter('function_timeout_total', 'Executions that timed out', ({ metrics }) => metrics.timedOut),
    counter('function_cancel_total', 'Cancelled executions', ({ metrics }) => metrics.cancelled),
    counter('function_queue_rejected_total', 'Refused calls', ({ metrics }) => metrics.rejected),
    counter('function_cold_start_total', 'Attempts with a cold start', ({ metrics }) => metrics.coldStarts),
    counter(
      'function_warm_start_total',
      'Successful attempts without a cold start',
      ({ metrics }) => metrics.warmStarts,
    ),
  ];
}

function functionGauges(engine: ReadEngine): ComputedMetric[] {
  const gauge = (name: string, help: string, read: (queue: FunctionQueue) => number): ComputedMetric =>
    perFunction(engine, 'gauge', name, help, read);
  return [
    gauge('function_queue_depth', 'Calls that wait for a slot', ({ waiting }) => waiting),
    gauge('function_inFlight', 'Running attempts', ({ inFlight }) => inFlight),
    gauge(
      'function_effective_concurrency',
      'Limit of attempts that run at a time',
      ({ definition }) => definition.concurrency,
    ),
    gauge(
      'function_target_inflight_per_pod',
      'Target of running attempts per instance of the function; the whole limit where the platform starts no instances',
      ({ definition }) => definition.spec.concurrencyControl?.targetInFlightPerPod ?? definition.concurrency,
    ),
    {
      name: 'function_concurrency_controller_mode',
      help: 'Mode that sets the limit of attempts; 1 for the current mode',
      type: 'gauge',
      labelNames: [...labelNames, 'mode'],
      *read() {
        for (const queue of engine().queues.values()) {
          const mode = queue.definition.spec.concurrencyControl?.mode ?? 'FIXED';
          yield { labels: { ...labelsOf(queue), mode }, value: 1 };
        }
      },
    },
  ];
}

/** Each duration is reported in seconds, as Prometheus recommends, and in milliseconds under the name that others use. */
function functionDurations(engine: ReadEngine): ComputedMetric[] {
  const durations = (name: string, help: string, read: (queue: FunctionQueue) => Histogram): ComputedMetric[] =>
    units.map(({ suffix, perMs }) => ({
      name: `${name}_${suffix}`,
      help: `${help}, in ${suffix === 'ms' ? 'milliseconds' : 'seconds'}`,
      type: 'histogram',
      labelNames,
      *read() {
        for (const queue of engine().queues.values()) yield* read(queue).samples(labelsOf(queue), perMs);
      },
    }));
  return [
    ...durations('function_latency', 'One attempt, from dispatch to its end', ({ metrics }) => metrics.latency),
    ...durations('function_queue_wait', 'From acceptance to dispatch', ({ metrics }) => metrics.queueWait),
    ...durations(
      'function_e2e_latency',
      'From acceptance to the end, retries included',
      ({ metrics }) => metrics.endToEnd,
    ),
    ...durations('function_init_duration', 'Initialization of a cold start', ({ metrics }) => metrics.initDuration),
    ...durations(
      'function_cold_start',
      'Attempts with a cold start, from dispatch to their end',
      ({ metrics }) => metrics.coldStart,
    ),
  ];
}

function syncCallMetrics(engine: ReadEngine): ComputedMetric[] {
  return [
    single('sync_queue_depth', 'gauge', 'Synchronous calls that wait for a slot', () => countWaitingCalls(engine())),
    single('sync_queue_admitted_total', 'counter', 'Admitted synchronous calls', () => engine().sync.admitted),
    single('sync_queue_rejected_total', 'counter', 'Refused synchronous calls', () => engine().sync.rejected),
    single(
      'sync_queue_timedout_total',
      'counter',
      'Synchronous calls whose wait timed out',
      () => engine().sync.timedOut,
    ),
    {
      name: 'sync_queue_wait_seconds',
      help: 'From acceptance to dispatch, synchronous calls only',
      type: 'histogram',
      labelNames: [],
      read: () => engine().sync.wait.samples({}, 0.001),
    },
  ];
}

function replicaMetrics(engine: ReadEngine): ComputedMetric[] {
  return [
    {
      name: 'scheduler_tick_ms',
      help: 'One sweep of expired keys, recent calls and executions, in milliseconds',
      type: 'histogram',
      labelNames: [],
      read: () => engine().sweeper.durations.samples({}, 1),
    },
    single('drover_executions_live', 'gauge', 'Unfinished executions on this replica', () => engine().live.size),
    single('drover_attempts_in_flight', 'gauge', 'Running attempts of all functions', () => engine().runner.inFlight),
  ];
}

function perFunction(
  engine: ReadEngine,
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  read: (queue: FunctionQueue) => number,
): ComputedMetric {
  return {
    name,
    help,
    type,
    labelNames,
    *read(): Generator<Sample> {
      for (const queue of engine().queues.values()) yield { labels: labelsOf(queue), value: read(queue) };
    },
  };
}

function single(name: string, type: 'counter' | 'gauge', help: string, read: () => number): ComputedMetric {
  return { name, help, type, labelNames: [], read: () => [{ labels: {}, value: read() }] };
}

function labelsOf({ tenantId, name }: FunctionQueue): Labels {
  return { tenant: tenantId, function: name };
}

function countWaitingCalls({ live }: MeasuredEngine): number {
  let waiting = 0;
  for (const { accepted, status } of live.all()) if (accepted.kind === 'sync' && status === 'queued') waiting += 1;
  return waiting;
}
