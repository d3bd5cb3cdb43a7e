import { renderLabels, type ComputedMetric, type Histogram, type Sample } from '@drover/service-kit';
import type { InvocationEngine } from './engine.js';
import type { FunctionMetrics } from './function-metrics.js';
import type { FunctionQueue } from './function-queue.js';

type MeasuredEngine = Pick<InvocationEngine, 'queues' | 'live' | 'sync' | 'sweeper' | 'runner'>;
type ReadEngine = () => MeasuredEngine;

const labelNames = ['tenant', 'function'];
const toSeconds = 0.001;

/**
 * Metrics per function and of synchronous calls, under names that dashboards of similar systems use. With thousands of functions
 * every line counts: a counter or histogram of a function is written from its first event on, and gauges only while the function
 * has its queue here.
 */
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
  const counter = (name: string, help: string, read: (metrics: FunctionMetrics) => number): ComputedMetric => ({
    name,
    help,
    type: 'counter',
    labelNames,
    *read(): Generator<Sample> {
      for (const metrics of engine().queues.measured.values()) {
        const value = read(metrics);
        if (value > 0) yield { labels: metrics.labels, value };
      }
    },
  });
  return [
    counter('function_enqueue_total', 'Accepted calls', ({ enqueued }) => enqueued),
    counter('function_dispatch_total', 'Started attempts', ({ dispatched }) => dispatched),
    counter('function_success_total', 'Executions that succeeded', ({ succeeded }) => succeeded),
    counter('function_error_total', 'Executions that failed or timed out', ({ failed }) => failed),
    counter('function_retry_total', 'Attempts after the first', ({ retried }) => retried),
    counter('function_timeout_total', 'Executions that timed out', ({ timedOut }) => timedOut),
    counter('function_cancel_total', 'Cancelled executions', ({ cancelled }) => cancelled),
    counter('function_queue_rejected_total', 'Refused calls', ({ rejected }) => rejected),
    counter('function_cold_start_total', 'Attempts with a cold start', ({ coldStarts }) => coldStarts),
    counter('function_warm_start_total', 'Successful attempts without a cold start', ({ warmStarts }) => warmStarts),
  ];
}

function functionGauges(engine: ReadEngine): ComputedMetric[] {
  const gauge = (name: string, help: string, read: (queue: FunctionQueue) => number | undefined): ComputedMetric => ({
    name,
    help,
    type: 'gauge',
    labelNames,
    *read(): Generator<Sample> {
      for (const queue of engine().queues.values()) {
        const value = read(queue);
        if (value !== undefined) yield { labels: queue.metrics.labels, value };
      }
    },
  });
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
      'Target of running attempts per instance of the function, if its registration has concurrencyControl',
      ({ definition: { spec, concurrency } }) =>
        spec.concurrencyControl && (spec.concurrencyControl.targetInFlightPerPod ?? concurrency),
    ),
    {
      name: 'function_concurrency_controller_mode',
      help: 'Mode that sets the limit of attempts, if its registration has concurrencyControl; 1 for the current mode',
      type: 'gauge',
      labelNames: [...labelNames, 'mode'],
      *read() {
        for (const { definition, metrics } of engine().queues.values()) {
          const { mode } = definition.spec.concurrencyControl ?? {};
          if (mode !== undefined) yield { labels: `${metrics.labels},${renderLabels({ mode })}`, value: 1 };
        }
      },
    },
  ];
}

function functionDurations(engine: ReadEngine): ComputedMetric[] {
  const durations = (name: string, help: string, read: (metrics: FunctionMetrics) => Histogram): ComputedMetric => ({
    name: `${name}_seconds`,
    help,
    type: 'histogram',
    labelNames,
    *read() {
      for (const metrics of engine().queues.measured.values()) {
        const histogram = read(metrics);
        if (histogram.count > 0) yield* histogram.samples(metrics.labels, toSeconds);
      }
    },
  });
  /** The same in milliseconds, under the names that dashboards of nanoFaaS use: sum and count of the functions that have buckets. */
  const inMilliseconds = (
    name: string,
    help: string,
    read: (metrics: FunctionMetrics) => Histogram,
  ): ComputedMetric => ({
    name: `${name}_ms`,
    help: `${help}, in milliseconds; sum and count of the functions whose histogram in seconds has buckets`,
    type: 'histogram',
    labelNames,
    *read() {
      for (const metrics of engine().queues.measured.values()) {
        const histogram = read(metrics);
        if (metrics.hasBuckets && histogram.count > 0) yield* histogram.totals(metrics.labels, 1);
      }
    },
  });
  return measuredDurations.flatMap(({ name, help, read }) => [
    durations(name, help, read),
    inMilliseconds(name, help, read),
  ]);
}

const measuredDurations: readonly {
  readonly name: string;
  readonly help: string;
  readonly read: (metrics: FunctionMetrics) => Histogram;
}[] = [
  { name: 'function_latency', help: 'One attempt, from dispatch to its end', read: ({ latency }) => latency },
  { name: 'function_queue_wait', help: 'From acceptance to dispatch', read: ({ queueWait }) => queueWait },
  {
    name: 'function_e2e_latency',
    help: 'From acceptance to the end, retries included',
    read: ({ endToEnd }) => endToEnd,
  },
  { name: 'function_init_duration', help: 'Initialization of a cold start', read: ({ initDuration }) => initDuration },
  {
    name: 'function_cold_start',
    help: 'Attempts with a cold start, from dispatch to their end',
    read: ({ coldStart }) => coldStart,
  },
];

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
      read: () => engine().sync.wait.samples('', toSeconds),
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
      read: () => engine().sweeper.durations.samples('', 1),
    },
    single('drover_executions_live', 'gauge', 'Unfinished executions on this replica', () => engine().live.size),
    single('drover_attempts_in_flight', 'gauge', 'Running attempts of all functions', () => engine().runner.inFlight),
  ];
}

function single(name: string, type: 'counter' | 'gauge', help: string, read: () => number): ComputedMetric {
  return { name, help, type, labelNames: [], read: () => [{ labels: {}, value: read() }] };
}

function countWaitingCalls({ live }: MeasuredEngine): number {
  let waiting = 0;
  for (const { accepted, status } of live.all()) if (accepted.kind === 'sync' && status === 'queued') waiting += 1;
  return waiting;
}
