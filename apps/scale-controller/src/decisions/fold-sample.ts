import type { ApplicationSample } from '@drover/scale-link';
import { thresholds } from './seed-rules.js';
import type { StateDraft } from './state.js';
import type { ScaleInput, ScalePolicy, ScaleState, SlopeForecast } from './types.js';

/** Time constants of the means, in seconds. */
const fastSeconds = 6;
const slowSeconds = 30;
const lastingSeconds = 60;
const completionSeconds = 10;

const serviceWeight = 0.3;
/** The best service time rises by 1 % per second, so that a function that became slower for good is seen as such after a minute or two. */
const bestServiceRise = 1.01;
/** Workers that take this much longer than at their best are congested, if they need this much CPU: else what they wait for is slow. */
const congestedRatio = 1.5;
const congestedCpu = 0.5;
/** Share of the way down to what congested workers serve, per sample. */
const concurrencyWeight = 0.5;
/** The CPU that a busy worker needs falls by 1 % per second, so that a function that computes less is seen as such. */
const busyCpuFall = 0.99;
const slopeErrorWeight = 0.1;

/** Takes a new sample into the windows and means. A sample that has been seen, or none, changes nothing. */
export function foldSample(draft: StateDraft, input: ScaleInput, policy: ScalePolicy): void {
  const { sample, sampleAtMs } = input;
  if (!sample || sampleAtMs <= draft.sampleAtMs) return;
  // The first one after the start or after zero is about the last second, however long ago the one before was.
  const isFirst = draft.loads.length === 0;
  const elapsed = isFirst ? 1 : Math.max(0.1, (sampleAtMs - draft.sampleAtMs) / 1_000);
  const arrivals = arrivalsPerSecond(sample);
  draft.sampleAtMs = sampleAtMs;
  draft.serviceMs = mix(draft.serviceMs, sample.meanServiceMs, serviceWeight);
  draft.bestServiceMs = bestOf(draft, input, elapsed);
  const concurrency = plannedConcurrency(draft, input, policy);
  const load = Math.max((arrivals * (draft.serviceMs ?? 0)) / 1_000, sample.inFlight);
  draft.concurrency = concurrency;
  draft.calls = appendToWindow(draft.calls, load + waitingOf(sample), elapsed, policy.panicWindowMs / 1_000);
  draft.computingSinceMs = (sample.computingWorkers ?? 0) > 0 ? (draft.computingSinceMs ?? sampleAtMs) : undefined;
  draft.busyCpu = busyCpuOf(draft, input, elapsed);
  draft.loads = appendToWindow(draft.loads, load, elapsed, policy.stableWindowMs / 1_000);
  draft.lowSinceMs = lowSince(draft, input, load / concurrency);
  draft.fastArrivals = isFirst ? arrivals : approach(draft.fastArrivals, arrivals, elapsed / fastSeconds);
  draft.slowArrivals = isFirst ? arrivals : approach(draft.slowArrivals, arrivals, elapsed / slowSeconds);
  draft.lastingArrivals = approach(draft.lastingArrivals, arrivals, elapsed / lastingSeconds);
  draft.completions = isFirst
    ? sample.completions
    : approach(draft.completions, sample.completions, elapsed / completionSeconds);
  draft.slope = advanceSlope(draft, input.startMs);
}

/** What runtimes received, or what arrived at the sources, where that is more: a full runtime does not receive all of it. */
export function arrivalsPerSecond(sample: ApplicationSample): number {
  let atSources = 0;
  for (const trigger of sample.triggers) atSources += trigger.arrivalsPerSecond ?? 0;
  return Math.max(sample.arrivals, atSources);
}

/**
 * Arrivals per second at `aheadMs` from now, if the present slope goes on. A mean over τ seconds lags behind a steady rise by τ seconds,
 * so that two of them give the slope. Returns undefined if they fall, or if "as now" has been the better forecast.
 */
export function slopeForecast(state: ScaleState, aheadMs: number): number | undefined {
  if (state.slope.error > state.slope.lastValueError) return undefined;
  const slope = (state.fastArrivals - state.slowArrivals) / (slowSeconds - fastSeconds);
  return slope > 0 ? state.fastArrivals + slope * (fastSeconds + aheadMs / 1_000) : undefined;
}

/** Judges the forecast that is due, and makes the next one. */
function advanceSlope(state: ScaleState, startMs: number): SlopeForecast {
  const { slope, sampleAtMs, fastArrivals: fast, slowArrivals: slow } = state;
  if (sampleAtMs < slope.forMs) return slope;
  const isJudged = slope.forMs > 0;
  const missed = isJudged ? Math.abs(slope.predicted - fast) - slope.error : 0;
  const lastMissed = isJudged ? Math.abs(slope.lastValue - fast) - slope.lastValueError : 0;
  const aheadMs = Math.max(startMs, 1_000);
  const rise = (fast - slow) / (slowSeconds - fastSeconds);
  return {
    forMs: sampleAtMs + aheadMs,
    predicted: Math.max(0, fast + (rise * aheadMs) / 1_000),
    lastValue: fast,
    error: slope.error + slopeErrorWeight * missed,
    lastValueError: slope.lastValueError + slopeErrorWeight * lastMissed,
  };
}

/** Every entry stands for about a second; a gap drops as many entries as seconds that it lasted. */
function appendToWindow(window: readonly number[], value: number, elapsed: number, length: number): readonly number[] {
  const kept = Math.max(0, length - Math.max(1, Math.round(elapsed)));
  const next = kept === 0 ? [] : window.slice(-kept);
  next.push(value);
  return next;
}

function lowSince(state: ScaleState, { sampleAtMs, workers }: ScaleInput, loadInWorkers: number): number | undefined {
  const isLow = loadInWorkers < thresholds.utilization.down * Math.max(1, workers.ready);
  return isLow ? (state.lowSinceMs ?? sampleAtMs) : undefined;
}

/**
 * Concurrency of a worker that is planned with: what the runtime reports, less while workers are congested, and back again slowly.
 * Of the invocations of a congested worker only as many are served as the service time has not grown by: with three times the best
 * service time, a third of them; the others wait within the worker.
 */
function plannedConcurrency(state: ScaleState, input: ScaleInput, policy: ScalePolicy): number {
  const { sample, workers } = input;
  const ready = sample?.readyWorkers ?? workers.ready;
  if (!sample || ready <= 0 || sample.capacity <= 0) return state.concurrency ?? policy.concurrencyPerWorker;
  const most = Math.max(1, sample.capacity / ready);
  const present = Math.min(most, state.concurrency ?? most);
  const { bestServiceMs } = state;
  const { meanServiceMs } = sample;
  if (meanServiceMs === undefined || bestServiceMs === undefined) return present;
  if (!isCongested(state, input)) return Math.min(most, present + 0.2 * Math.sqrt(present));
  const served = ((sample.inFlight / ready) * bestServiceMs) / meanServiceMs;
  return Math.max(1, Math.min(present, present + concurrencyWeight * (served - present)));
}

function isCongested({ bestServiceMs }: ScaleState, { sample, workers, cpuDemand }: ScaleInput): boolean {
  if (sample?.meanServiceMs === undefined || bestServiceMs === undefined) return false;
  const ready = sample.readyWorkers ?? workers.ready;
  const isBusy = (cpuDemand ?? sample.cpu ?? 0) >= congestedCpu && sample.inFlight > ready;
  return isBusy && sample.meanServiceMs > congestedRatio * bestServiceMs;
}

/** A congested worker says nothing about its best. */
function bestOf(state: ScaleState, input: ScaleInput, elapsed: number): number | undefined {
  const { bestServiceMs: best } = state;
  const mean = input.sample?.meanServiceMs;
  if (best === undefined || mean === undefined) return mean ?? best;
  return isCongested(state, input) ? best : Math.min(best * bestServiceRise ** Math.min(elapsed, 600), mean);
}

/** Events in runtimes and sources that no worker has. */
function waitingOf({ waiting, triggers }: ApplicationSample): number {
  let all = waiting;
  for (const trigger of triggers) all += trigger.waiting ?? 0;
  return all;
}

function busyCpuOf({ busyCpu }: ScaleState, { sample, cpuDemand }: ScaleInput, elapsed: number): number | undefined {
  const cpu = cpuDemand ?? sample?.cpu;
  if (cpu === undefined || !sample || sample.inFlight === 0) return busyCpu;
  return Math.max(cpu, (busyCpu ?? 0) * busyCpuFall ** elapsed);
}

function mix(before: number | undefined, value: number | undefined, weight: number): number | undefined {
  if (before === undefined || value === undefined) return value ?? before;
  return before + weight * (value - before);
}

/** Moves an exponential mean by `share` of its time constant. */
function approach(before: number, value: number, share: number): number {
  return before + (value - before) * -Math.expm1(-share);
}
