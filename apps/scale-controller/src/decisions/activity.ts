import type { ApplicationSample } from '@drover/scale-link';
import { arrivalsPerSecond } from './fold-sample.js';
import { recordIdleTime, warmTime } from './idle-times.js';
import type { ScaleInput, ScalePolicy, ScaleState } from './types.js';
import { countEvents, emptyPattern, forecastHour, nextHourMs, patternForecast } from './week-pattern.js';

/** A look at an application at zero comes this much before a worker would have to start. */
const lookAheadMs = 1_000;

export function hasWork(sample: ApplicationSample): boolean {
  if (sample.arrivals > 0 || sample.inFlight > 0 || sample.waiting > 0) return true;
  return sample.triggers.some(({ waiting }) => waiting !== undefined && waiting > 0);
}

/** Notes activity and idle times, counts events into the pattern of the week, and keeps a worker warm when an event is to be expected. */
export function noteActivity(state: ScaleState, input: ScaleInput, policy: ScalePolicy, isKnown: boolean): ScaleState {
  const { nowMs, wakes, sample } = input;
  const isNew = sample !== undefined && input.sampleAtMs > state.sampleAtMs;
  const isActive = wakes.length > 0 || (isNew && hasWork(sample));
  const idleMs = nowMs - state.activeAtMs;
  const events = wakes.filter((wake) => wake === 'event').length + (isNew ? arrivalsPerSecond(sample) : 0);
  const counted = countedPattern(state, nowMs, events);
  const noted: ScaleState = {
    ...state,
    pattern: counted,
    activeAtMs: activeAt(state, nowMs, isActive, isKnown),
    idleTimes: isActive ? recordIdleTime(state.idleTimes, idleMs) : state.idleTimes,
  };
  return policy.isPredictive && state.desired === 0 && !isActive ? warmed(noted, input, policy) : noted;
}

function countedPattern(state: ScaleState, nowMs: number, events: number): ScaleState['pattern'] {
  if (!state.pattern && events === 0) return undefined;
  return countEvents(state.pattern ?? emptyPattern(nowMs), nowMs, events);
}

/** The idle time stands still while nothing is known: a source that cannot be read may be full. */
function activeAt(state: ScaleState, nowMs: number, isActive: boolean, isKnown: boolean): number {
  if (isActive) return nowMs;
  return isKnown || state.desired === 0 ? state.activeAtMs : state.activeAtMs + (nowMs - state.decidedAtMs);
}

function warmed(state: ScaleState, { nowMs, startMs }: ScaleInput, policy: ScalePolicy): ScaleState {
  const warm = warmTime(state.idleTimes, policy.idleMs);
  const leadMs = startMs + lookAheadMs;
  if (warm && nowMs >= state.activeAtMs + warm.fromMs - leadMs && nowMs < state.activeAtMs + warm.untilMs)
    return { ...state, warmUntilMs: state.activeAtMs + warm.untilMs };
  const { pattern } = state;
  const hour = forecastHour(nowMs + leadMs);
  if (!pattern || pattern.prewarmedHour === hour) return state;
  const expected = patternForecast(pattern, nowMs + leadMs);
  // At least one event within the time that a worker is kept anyway.
  if (!expected || expected.rate * (policy.idleMs / 1_000) < 1) return state;
  return { ...state, warmUntilMs: nowMs + policy.idleMs, pattern: { ...pattern, prewarmedHour: hour } };
}

/** When an application at zero has to be looked at although nothing happened: before an expected event, or before the next hour. */
export function lookAgainAt(state: ScaleState, { nowMs, startMs }: ScaleInput, policy: ScalePolicy): number {
  const leadMs = startMs + lookAheadMs;
  const hourMs = nextHourMs(nowMs + leadMs) - leadMs;
  const warm = policy.isPredictive ? warmTime(state.idleTimes, policy.idleMs) : undefined;
  const warmMs = warm ? state.activeAtMs + warm.fromMs - leadMs : 0;
  return warmMs > nowMs ? Math.min(warmMs, hourMs) : hourMs;
}
