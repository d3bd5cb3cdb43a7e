import type { ApplicationSample } from '@drover/scale-link';
import { arrivalsPerSecond } from './fold-sample.js';
import { recordIdleTime, warmTime } from './idle-times.js';
import type { StateDraft } from './state.js';
import type { ScaleInput, ScalePolicy, ScaleState } from './types.js';
import { countEvents, emptyPattern, forecastHour, nextHourMs, patternForecast } from './week-pattern.js';

/** A look at an application at zero comes this much before a worker would have to start. */
const lookAheadMs = 1_000;

export function hasWork(sample: ApplicationSample): boolean {
  if (sample.arrivals > 0 || sample.inFlight > 0 || sample.waiting > 0) return true;
  return sample.triggers.some(({ waiting }) => waiting !== undefined && waiting > 0);
}

/** Notes activity and idle times, counts events into the pattern of the week, and keeps a worker warm when an event is to be expected. */
export function noteActivity(draft: StateDraft, input: ScaleInput, policy: ScalePolicy, isKnown: boolean): void {
  const { nowMs, wakes, sample } = input;
  const isNew = sample !== undefined && input.sampleAtMs > draft.sampleAtMs;
  const isActive = wakes.length > 0 || (isNew && hasWork(sample));
  const woken = wakes.length === 0 ? 0 : wakes.filter((wake) => wake === 'event').length;
  draft.pattern = countedPattern(draft, nowMs, woken + (isNew ? arrivalsPerSecond(sample) : 0));
  if (isActive) {
    draft.idleTimes = recordIdleTime(draft.idleTimes, nowMs - draft.activeAtMs);
    draft.activeAtMs = nowMs;
  } else if (draft.desired === 0) {
    if (policy.isPredictive) keepWarm(draft, input, policy);
  } else if (!isKnown) {
    // The idle time stands still while nothing is known: a source that cannot be read may be full.
    draft.activeAtMs += nowMs - draft.decidedAtMs;
  }
}

function countedPattern(state: ScaleState, nowMs: number, events: number): ScaleState['pattern'] {
  if (!state.pattern && events === 0) return undefined;
  return countEvents(state.pattern ?? emptyPattern(nowMs), nowMs, events);
}

function keepWarm(draft: StateDraft, { nowMs, startMs }: ScaleInput, policy: ScalePolicy): void {
  const warm = warmTime(draft.idleTimes, policy.idleMs);
  const leadMs = startMs + lookAheadMs;
  if (warm && nowMs >= draft.activeAtMs + warm.fromMs - leadMs && nowMs < draft.activeAtMs + warm.untilMs) {
    draft.warmUntilMs = draft.activeAtMs + warm.untilMs;
    return;
  }
  const { pattern } = draft;
  const hour = forecastHour(nowMs + leadMs);
  if (!pattern || pattern.prewarmedHour === hour) return;
  const expected = patternForecast(pattern, nowMs + leadMs);
  // At least one event within the time that a worker is kept anyway.
  if (!expected || expected.rate * (policy.idleMs / 1_000) < 1) return;
  draft.warmUntilMs = nowMs + policy.idleMs;
  draft.pattern = { ...pattern, prewarmedHour: hour };
}

/** When an application at zero has to be looked at although nothing happened: before an expected event, or before the next hour. */
export function lookAgainAt(state: ScaleState, { nowMs, startMs }: ScaleInput, policy: ScalePolicy): number {
  const leadMs = startMs + lookAheadMs;
  const hourMs = nextHourMs(nowMs + leadMs) - leadMs;
  const warm = policy.isPredictive ? warmTime(state.idleTimes, policy.idleMs) : undefined;
  const warmMs = warm ? state.activeAtMs + warm.fromMs - leadMs : 0;
  return warmMs > nowMs ? Math.min(warmMs, hourMs) : hourMs;
}
