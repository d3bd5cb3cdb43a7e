import type { ComputedMetric, Labels, Sample } from '@drover/service-kit';
import type { InvocationEngine } from './engine.js';
import type { FunctionQueue } from './function-queue.js';
import { samplesOf, type Histogram } from './histogram.js';

const labelNames = ['tenant', 'function'];

/** Everything that is counted per function and of synchronous calls, under the names that dashboards of such systems know. */
export function engineMetrics(
  engine: () => Pick<InvocationEngine, 'queues' | 'live' | 'sync' | 'sweeper' | 'runner'>,
): ComputedMetric[] {
  const ofLanes = (read: (queue: FunctionQueue) => number) =>
    function* (): Generator<Sample> {
      for (const queue of engine().queues.values()) yield { labels: labelsOf(queue), value: read(queue) };
    };
  const counter = (name: string, help: string, read: (queue: FunctionQueue) => number): ComputedMetric => ({
    name,
    help,
    type: 'counter',
    labelNames,
    read: ofLanes(read),
  });
  const level = (name: string, help: string, read: (queue: FunctionQueue) => number): ComputedMetric => ({
    ...counter(name, help, read),
    type: 'gauge',
  });
  /** In seconds under an honest name, and in milliseconds under the one that others use. */
  const durations = (name: string, help: string, read: (queue: FunctionQueue) => Histogram): ComputedMetric[] =>
    units.map(({ suffix, perMs }) => ({
      name: `${name}_${suffix}`,
      help: `${help}, in ${suffix === 'ms' ? 'milliseconds' : 'seconds'}`,
      type: 'histogram',
      labelNames,
      *read() {
        for (const queue of engine().queues.values()) yield* samplesOf(read(queue), labelsOf(queue), perMs);
      },
    }));
  const single = (name: string, type: 'counter' | 'gauge', help: string, read: () => number): ComputedMetric => ({
    name,
    help,
    type,
    labelNames: [],
    read: () => [{ labels: {}, value: read() }],
  });
  return [
    counter('function_enqueue_total', 'Calls that were accepted', ({ metrics }) => metrics.enqueued),
    counter('function_dispatch_total', 'Attempts that were begun', ({ metrics }) => metrics.dispatched),
    counter('function_success_total', 'Executions that succeeded', ({ metrics }) => metrics.succeeded),
    counter('function_error_total', 'Executions that failed or ran out of time', ({ metrics }) => metrics.failed),
    counter('function_retry_total', 'Attempts after the first', ({ metrics }) => metrics.retried),
    counter('function_timeout_total', 'Executions that ran out of time', ({ metrics }) => metrics.timedOut),
    counter('function_cancel_total', 'Executions that were cancelled', ({ metrics }) => metrics.cancelled),
    counter('function_queue_rejected_total', 'Calls that were refused', ({ metrics }) => metrics.rejected),
    counter('function_cold_start_total', 'Attempts that found nothing warm', ({ metrics }) => metrics.coldStarts),
    counter(
      'function_warm_start_total',
      'Successful attempts that found something warm',
      ({ metrics }) => metrics.warmStarts,
    ),
    level('function_queue_depth', 'Calls that wait for a slot', ({ waiting }) => waiting),
    level('function_inFlight', 'Attempts that run', ({ inFlight }) => inFlight),
    level(
      'function_effective_concurrency',
      'Attempts that may run at a time',
      ({ definition }) => definition.concurrency,
    ),
    level(
      'function_target_inflight_per_pod',
      'Attempts that one replica of the function should have in hand; all of them where it has no replicas of ours',
      ({ definition }) => definition.spec.concurrencyControl?.targetInFlightPerPod ?? definition.concurrency,
    ),
    {
      name: 'function_concurrency_controller_mode',
      help: 'What sets the limit of attempts: 1 for the mode that it is',
      type: 'gauge',
      labelNames: [...labelNames, 'mode'],
      *read() {
        for (const queue of engine().queues.values()) {
          const mode = queue.definition.spec.concurrencyControl?.mode ?? 'FIXED';
          yield { labels: { ...labelsOf(queue), mode }, value: 1 };
        }
      },
    },
    ...durations('function_latency', 'One attempt, from dispatch to its end', ({ metrics }) => metrics.latency),
    ...durations('function_queue_wait', 'From acceptance to dispatch', ({ metrics }) => metrics.queueWait),
    ...durations(
      'function_e2e_latency',
      'From acceptance to the end, retries included',
      ({ metrics }) => metrics.endToEnd,
    ),
    ...durations(
      'function_init_duration',
      'What a cold start took to get ready',
      ({ metrics }) => metrics.initDuration,
    ),
    ...durations(
      'function_cold_start',
      'Attempts that found nothing warm, from dispatch to their end',
      ({ metrics }) => metrics.coldStart,
    ),
    single('sync_queue_depth', 'gauge', 'Synchronous calls that wait for a slot', () => countWaiting(engine().live)),
    single('sync_queue_admitted_total', 'counter', 'Synchronous calls that were let in', () => engine().sync.admitted),
    single('sync_queue_rejected_total', 'counter', 'Synchronous calls that were refused', () => engine().sync.rejected),
    single(
      'sync_queue_timedout_total',
      'counter',
      'Synchronous callers who had waited long enough',
      () => engine().sync.timedOut,
    ),
    {
      name: 'sync_queue_wait_seconds',
      help: 'From acceptance to dispatch, synchronous calls only',
      type: 'histogram',
      labelNames: [],
      read: () => samplesOf(engine().sync.wait, {}, 0.001),
    },
    {
      name: 'scheduler_tick_ms',
      help: 'One look at everything that may be over: keys, recent calls, executions past their lifetime, in milliseconds',
      type: 'histogram',
      labelNames: [],
      read: () => samplesOf(engine().sweeper.metrics, {}, 1),
    },
    single('drover_executions_live', 'gauge', 'Executions that have not ended, at this home', () => engine().live.size),
    single('drover_attempts_in_flight', 'gauge', 'Attempts of all functions that run', () => engine().runner.inFlight),
  ];
}

const units = [
  { suffix: 'seconds', perMs: 0.001 },
  { suffix: 'ms', perMs: 1 },
];

function labelsOf({ tenantId, name }: FunctionQueue): Labels {
  return { tenant: tenantId, function: name };
}

function countWaiting(live: InvocationEngine['live']): number {
  let waiting = 0;
  for (const { accepted, state } of live.all()) if (accepted.kind === 'sync' && state === 'queued') waiting += 1;
  return waiting;
}
