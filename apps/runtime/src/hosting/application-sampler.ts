import { setMaxListeners } from 'node:events';
import { hasCode } from '@drover/contracts';
import type { ApplicationSample, TriggerSample } from '@drover/scale-link';
import { deadlineAfter, type Clock } from '@drover/service-kit';
import { BacklogMeasurements } from '@drover/trigger-sources';
import { shownTriggerType } from '../applications/trigger-types.js';
import type { InvocationTracker } from '../invocations/invocation-tracker.js';
import type { HostedTrigger, JobHost } from '../job-hosts/job-host.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { FunctionWorkerRegistry } from '../workers/function-worker-registry.js';
import type { MeterReading } from './application-meter.js';
import type { ParkableApplication } from './parkable-application.js';

export interface SamplerOptions {
  readonly registry: FunctionWorkerRegistry;
  readonly tracker: Pick<InvocationTracker, 'countOf'>;
  readonly clock: Clock;
}

/** A source that does not answer within this time is reported as unknown, so that the sample is in time. */
const measureWithinMs = 800;

/** Measures hosted applications, each second. One that is parked and had no call costs a look and is left out. */
export class ApplicationSampler {
  readonly #options: SamplerOptions;
  readonly #backlogs: BacklogMeasurements;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#backlogs = new BacklogMeasurements(options.clock);
  }

  async sample(
    applications: Iterable<ParkableApplication>,
    signal: AbortSignal,
  ): Promise<readonly ApplicationSample[]> {
    const { registry, clock } = this.#options;
    const workers = workersByHost(registry.in('ready', 'unhealthy', 'draining'));
    const deadline = deadlineAfter(clock, measureWithinMs, signal);
    setMaxListeners(0, deadline.signal); // one listener for each trigger
    const samples: Promise<ApplicationSample>[] = [];
    for (const application of applications) {
      const reading = application.meter.read();
      const isAtRest = application.isParked && reading.arrivals === 0 && reading.completions === 0;
      if (!isAtRest) samples.push(this.#sampleOf(application, reading, workers, deadline.signal));
    }
    const sampled = await Promise.all(samples);
    deadline.cancel();
    return sampled;
  }

  async #sampleOf(
    { name, hosts }: ParkableApplication,
    reading: MeterReading,
    workersOf: ReadonlyMap<string, readonly FunctionWorker[]>,
    deadline: AbortSignal,
  ): Promise<ApplicationSample> {
    const open = [...hosts];
    const workers = open.flatMap(({ key }) => workersOf.get(key) ?? []);
    const ready = workers.filter((worker) => worker.is('ready'));
    const triggers = open.flatMap(({ host }) => host?.triggers ?? []);
    const { tracker, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const inFlight = workers.reduce((sum, { id }) => sum + tracker.countOf(id), 0);
    const waiting = open.reduce((sum, host) => sum + host.waiting, 0);
    const isActive = inFlight + waiting + reading.arrivals + reading.completions > 0;
    const measured = triggers.map((trigger) => this.#measure(trigger, isActive, deadline));
    return {
      application: name,
      inFlight,
      waiting,
      capacity: ready.reduce((sum, worker) => sum + concurrencyOf(worker, nowMs), 0),
      readyWorkers: ready.length,
      computingWorkers: ready.filter(
        ({ id, isPaced, pace }) => isPaced && tracker.countOf(id) > 0 && pace.isComputing(nowMs),
      ).length,
      ...reading,
      // The instance provider measures the processes, which the runtime does not know.
      cpu: undefined,
      memory: undefined,
      isBackpressured: open.some(({ host, workers: count }) => count > 0 && isSaturated(host)),
      triggers: [...open.flatMap(({ host }) => requestTriggers(host)), ...(await Promise.all(measured))],
    };
  }

  async #measure(
    { functionName, type, listener }: HostedTrigger,
    isActive: boolean,
    deadline: AbortSignal,
  ): Promise<TriggerSample> {
    const about = { functionName, type: shownTriggerType(type) };
    try {
      const { waiting, oldestAgeMs, arrivalsPerSecond, maxUsefulWorkers, targetPerWorker } =
        await this.#backlogs.measure(listener, isActive, deadline);
      return {
        ...about,
        waiting,
        ...(oldestAgeMs !== undefined && { oldestAgeMs }),
        ...(arrivalsPerSecond !== undefined && { arrivalsPerSecond }),
        ...(maxUsefulWorkers !== undefined && { maxUsefulWorkers }),
        ...(targetPerWorker !== undefined && { targetPerWorker }),
      };
    } catch (error) {
      // Its events are pushed: those that wait are in the runtime.
      if (hasCode(error, 'TRIGGER_BACKLOG_UNKNOWN')) return about;
      return { ...about, problem: error instanceof Error ? error.message : String(error) };
    }
  }
}

function workersByHost(workers: readonly FunctionWorker[]): ReadonlyMap<string, readonly FunctionWorker[]> {
  const byHost = new Map<string, FunctionWorker[]>();
  for (const worker of workers) {
    if (worker.jobHostKey === undefined) continue;
    const others = byHost.get(worker.jobHostKey);
    if (others) others.push(worker);
    else byHost.set(worker.jobHostKey, [worker]);
  }
  return byHost;
}

function concurrencyOf({ isPaced, pace, limit }: FunctionWorker, nowMs: number): number {
  return isPaced ? pace.concurrency(limit, nowMs) : limit;
}

function isSaturated(host: JobHost | undefined): boolean {
  return host?.isSaturated === true;
}

/**
 * Triggers without a source: what waits for them is in the runtime, and no number of workers is too large for them. Without them, the
 * partitions of another trigger would bound the application.
 */
function requestTriggers(host: JobHost | undefined): readonly TriggerSample[] {
  const samples: TriggerSample[] = [];
  for (const { name, trigger, isDisabled } of host?.functions.values() ?? [])
    if (!isDisabled && shownTriggerType(trigger.type) === 'httpTrigger')
      samples.push({ functionName: name, type: 'httpTrigger' });
  return samples;
}
