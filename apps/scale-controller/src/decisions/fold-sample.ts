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
/** Workers that take twice as long as at their best are congested, if they use this much CPU: else what they wait for is slow. */
const congestedRatio = 2;
const congestedCpu = 0.5;
/** The concurrency that is planned with stays between this share of the configured one and all of it. */
const leastConcurrencyShare = 0.25;
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
  draft.bestServiceMs = bestOf(draft.bestServiceMs, sample.meanServiceMs, elapsed);
  const concurrency = plannedConcurrency(draft, input, policy);
  const load = Math.max((arrivals * (draft.serviceMs ?? 0)) / 1_000, sample.inFlight);
  draft.concurrency = concurrency;
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
 * Concurrency of a worker that is planned with: the configured one, less while workers are congested (gradient of the service time), and
 * back again slowly.
 */
function plannedConcurrency(state: ScaleState, { sample, workers }: ScaleInput, policy: ScalePolicy): number {
  const { bestServiceMs } = state;
  const ready = sample?.readyWorkers ?? workers.ready;
  if (!sample || ready <= 0 || sample.capacity <= 0) return state.concurrency ?? policy.concurrencyPerWorker;
  const most = sample.capacity / ready;
  const present = Math.min(most, state.concurrency ?? most);
  const { meanServiceMs, cpu } = sample;
  if (meanServiceMs === undefined || bestServiceMs === undefined) return present;
  const isBusy = (cpu ?? 0) >= congestedCpu && sample.inFlight > ready;
  const gradient = isBusy ? Math.min(1, Math.max(0.5, (congestedRatio * bestServiceMs) / meanServiceMs)) : 1;
  const next = gradient < 1 ? present * (0.8 + 0.2 * gradient) : present + 0.2 * Math.sqrt(present);
  return Math.min(most, Math.max(1, most * leastConcurrencyShare, next));
}

function bestOf(best: number | undefined, mean: number | undefined, elapsed: number): number | undefined {
  if (best === undefined) return mean;
  const risen = best * bestServiceRise ** Math.min(elapsed, 600);
  return mean === undefined ? best : Math.min(risen, mean);
}

function mix(before: number | undefined, value: number | undefined, weight: number): number | undefined {
  if (before === undefined || value === undefined) return value ?? before;
  return before + weight * (value - before);
}

/** Moves an exponential mean by `share` of its time constant. */
function approach(before: number, value: number, share: number): number {
  return before + (value - before) * -Math.expm1(-share);
}
