import { keepAliveMs } from './idle-times.js';
import { slopeForecast } from './fold-sample.js';
import { thresholds } from './seed-rules.js';
import { targetLoadOf } from './source-targets.js';
import { extremes } from './state.js';
import type { ApplicationSample } from '@drover/scale-link';
import type { ScaleFacts, ScaleInput, ScalePolicy, ScaleState } from './types.js';
import { patternForecast } from './week-pattern.js';

/** Measurements of CPU are about the last second or two. */
const measuredAfterMs = 3_000;

const isFresh = ({ nowMs, sample, sampleAtMs }: ScaleInput, policy: ScalePolicy): boolean =>
  sample !== undefined && nowMs - sampleAtMs <= policy.staleAfterMs;

/** Whether everything that decisions look at could be measured. */
export function isKnown(input: ScaleInput, policy: ScalePolicy): boolean {
  return isFresh(input, policy) && problemOf(input.sample) === undefined;
}

/** Condenses state and input into the numbers that a decision is made of. */
export function scaleFactsOf(state: ScaleState, input: ScaleInput, policy: ScalePolicy): ScaleFacts {
  const { nowMs, workers, startMs } = input;
  const sample = isFresh(input, policy) ? input.sample : undefined;
  const source = sourceFacts(sample);
  const idleForMs = nowMs - state.activeAtMs;
  const { forecast, confidence } = forecastFacts(state, input, policy, idleForMs);
  return {
    nowMs,
    ready: workers.ready,
    starting: workers.starting,
    draining: workers.draining,
    desired: state.desired,
    startMs,
    wakes: input.wakes,
    isStale: sample === undefined,
    problem: problemOf(sample),
    concurrency: Math.max(1, state.concurrency ?? policy.concurrencyPerWorker),
    inFlight: sample?.inFlight ?? 0,
    waiting: sample?.waiting ?? 0,
    backlog: source.backlog,
    calls: largestOf(state.calls),
    targetLoad: source.targetLoad,
    oldestAgeMs: source.oldestAgeMs,
    maxUsefulWorkers: source.maxUsefulWorkers,
    arrivalsPerSecond: state.fastArrivals,
    completionsPerSecond: state.completions,
    serviceMs: state.serviceMs,
    stableLoad: meanOfLast(state.loads, state.loads.length),
    panicLoad: meanOfLast(state.loads, policy.panicWindowMs / 1_000),
    lastingLoad: lastingLoadOf(state),
    cpu: sample?.cpu,
    busyCpu: busyCpuOf(state, nowMs),
    cores: input.cores,
    memory: sample?.memory,
    runtimeMemory: input.runtimeMemory,
    isBackpressured: sample?.isBackpressured ?? false,
    idleForMs,
    lowForMs: state.lowSinceMs === undefined ? 0 : nowMs - state.lowSinceMs,
    keepAliveMs: policy.isPredictive && idleForMs > policy.idleMs ? keepAliveMs(state.idleTimes, policy.idleMs) : 0,
    forecast,
    confidence,
    warmUntilMs: state.warmUntilMs,
    settledForMs: settledFor(state, input),
    panicUntilMs: state.panicUntilMs,
    panicWorkers: nowMs < state.panicUntilMs ? state.panicWorkers : 0,
    plateauWorkers: state.plateau?.workers ?? 0,
    stabilizedWorkers: Math.max(largestOf(state.proposals), nowMs < state.catchUpUntilMs ? state.catchUpWorkers : 0),
    lowestRecent: extremes(state, nowMs, policy.slewUp.periodMs).lowest,
    lowestPanicRecent: extremes(state, nowMs, policy.slewPanic.periodMs).lowest,
    highestRecent: extremes(state, nowMs, policy.slewDown.periodMs).highest,
    isRuntimeMemoryCritical: isCritical(state, input.runtimeMemory),
  };
}

/** Until a measurement covers the time in which workers compute, each is expected to need a core. */
function busyCpuOf({ computingSinceMs, busyCpu }: ScaleState, nowMs: number): number | undefined {
  if (computingSinceMs === undefined) return busyCpu;
  return busyCpu === undefined || nowMs - computingSinceMs < measuredAfterMs ? 1 : busyCpu;
}

/** Hysteresis: what is critical stays so until memory is well below. */
function isCritical(state: ScaleState, memory: number | undefined): boolean {
  const { critical, recovered } = thresholds.runtimeMemory;
  return memory !== undefined && memory > (state.isRuntimeMemoryCritical ? recovered : critical);
}

function problemOf(sample: ApplicationSample | undefined): string | undefined {
  const trigger = sample?.triggers.find(({ problem }) => problem !== undefined);
  return trigger && `${trigger.functionName}: ${trigger.problem}`;
}

function sourceFacts(
  sample: ApplicationSample | undefined,
): Pick<ScaleFacts, 'backlog' | 'targetLoad' | 'oldestAgeMs' | 'maxUsefulWorkers'> {
  let backlog = 0;
  let targetLoad = 0;
  let oldestAgeMs = 0;
  let useful: number | undefined = sample && sample.triggers.length > 0 ? 0 : undefined;
  for (const trigger of sample?.triggers ?? []) {
    const waiting = trigger.waiting ?? 0;
    backlog += waiting;
    targetLoad += targetLoadOf(trigger);
    // A source may still report the age of a message that a worker has by now.
    if (waiting > 0) oldestAgeMs = Math.max(oldestAgeMs, trigger.oldestAgeMs ?? 0);
    useful =
      useful === undefined || trigger.maxUsefulWorkers === undefined ? undefined : useful + trigger.maxUsefulWorkers;
  }
  return { backlog, targetLoad, oldestAgeMs, maxUsefulWorkers: useful };
}

/** The larger one of slope and pattern. An application that stays idle although the pattern expected events gets no workers for it. */
function forecastFacts(
  state: ScaleState,
  { nowMs, startMs }: ScaleInput,
  policy: ScalePolicy,
  idleForMs: number,
): Pick<ScaleFacts, 'forecast' | 'confidence'> {
  if (!policy.isPredictive || idleForMs > policy.idleMs) return { forecast: undefined, confidence: 0 };
  const pattern = state.pattern && patternForecast(state.pattern, nowMs + startMs);
  const slope = slopeForecast(state, startMs);
  if (pattern && pattern.rate > (slope ?? 0)) return { forecast: pattern.rate, confidence: pattern.confidence };
  return { forecast: slope, confidence: 0 };
}

function settledFor(state: ScaleState, { nowMs, workers, startMs }: ScaleInput): number {
  if (workers.starting > 0 || workers.ready < state.desired) return 0;
  return state.lastChange ? Math.max(0, nowMs - state.lastChange.atMs - startMs) : nowMs;
}

function lastingLoadOf(state: ScaleState): number {
  if (state.serviceMs === undefined) return meanOfLast(state.loads, state.loads.length);
  return (state.lastingArrivals * state.serviceMs) / 1_000;
}

function meanOfLast(values: readonly number[], count: number): number {
  const first = Math.max(0, values.length - count);
  let sum = 0;
  for (let index = first; index < values.length; index += 1) sum += values[index] ?? 0;
  return values.length === 0 ? 0 : sum / (values.length - first);
}

function largestOf(values: readonly number[]): number {
  let largest = 0;
  for (const value of values) if (value > largest) largest = value;
  return largest;
}
