import type { WeekPattern } from './types.js';

const hourMs = 3_600_000;
const hoursOfDay = 24;
const hoursOfWeek = 7 * hoursOfDay;
const notSeen = -1;

/** Weight of the newest week, and of the newest hour in the errors. */
const rateWeight = 0.5;
const errorWeight = 0.2;

/** At least so many days must have been seen, and this share of them must agree. */
const leastDays = 2;
const leastConfidence = 0.6;

/** What the pattern expects of an hour. */
export interface PatternForecast {
  /** Events per second. */
  readonly rate: number;
  /** Share of the seen days on which this hour was about the same. */
  readonly confidence: number;
}

const hourOf = (nowMs: number): number => Math.floor(nowMs / hourMs);
const slotOf = (hour: number): number => ((hour % hoursOfWeek) + hoursOfWeek) % hoursOfWeek;

/** Shared by all patterns whose first hour has not ended. */
const noRates: readonly number[] = Object.freeze(Array.from({ length: hoursOfWeek }, () => notSeen));

/** Starts a pattern with the first event of an application. */
export function emptyPattern(nowMs: number): WeekPattern {
  return {
    rates: noRates,
    hour: hourOf(nowMs),
    events: 0,
    previousRate: 0,
    error: 0,
    lastValueError: 0,
    prewarmedHour: 0,
  };
}

/** Counts events, and closes the hours that ended before `nowMs`. Hours without a call had no event. */
export function countEvents(pattern: WeekPattern, nowMs: number, events: number): WeekPattern {
  const hour = hourOf(nowMs);
  if (hour === pattern.hour) return events === 0 ? pattern : withEvents(pattern, pattern.events + events);
  const rates = [...pattern.rates];
  let { error, lastValueError, previousRate } = pattern;
  // After more than a week without a look only the last week is worth closing.
  for (let ended = Math.max(pattern.hour, hour - hoursOfWeek); ended < hour; ended += 1) {
    const rate = ended === pattern.hour ? pattern.events / (hourMs / 1_000) : 0;
    const expected = expectation(rates, ended);
    if (expected) {
      error += errorWeight * (Math.abs(expected.rate - rate) - error);
      lastValueError += errorWeight * (Math.abs(previousRate - rate) - lastValueError);
    }
    const slot = slotOf(ended);
    const known = rates[slot] ?? notSeen;
    rates[slot] = known === notSeen ? rate : known + rateWeight * (rate - known);
    previousRate = rate;
  }
  return { ...pattern, rates, hour, events, previousRate, error, lastValueError };
}

function withEvents(pattern: WeekPattern, events: number): WeekPattern {
  const { rates, hour, previousRate, error, lastValueError, prewarmedHour } = pattern;
  return { rates, hour, events, previousRate, error, lastValueError, prewarmedHour };
}

/**
 * Expects of an hour what the same hour of the week had, or the mean of the same hour on the days seen so far. Returns undefined if
 * too few days agree, or if "as in the hour before" has been the better forecast.
 */
export function patternForecast(pattern: WeekPattern, atMs: number): PatternForecast | undefined {
  if (pattern.rates === noRates || pattern.error > pattern.lastValueError) return undefined;
  const expected = expectation(pattern.rates, hourOf(atMs));
  return expected && expected.confidence >= leastConfidence ? expected : undefined;
}

/** The hour that is forecast for `atMs`, to remember that workers were started for it. */
export const forecastHour = hourOf;

/** When the next hour begins. */
export function nextHourMs(nowMs: number): number {
  return (hourOf(nowMs) + 1) * hourMs;
}

function expectation(rates: readonly number[], hour: number): PatternForecast | undefined {
  let days = 0;
  let sum = 0;
  for (let day = 1; day <= 7; day += 1) {
    const rate = rates[slotOf(hour - day * hoursOfDay)] ?? notSeen;
    if (rate === notSeen) continue;
    days += 1;
    sum += rate;
  }
  if (days < leastDays) return undefined;
  const sameHour = rates[slotOf(hour)] ?? notSeen;
  const rate = sameHour === notSeen ? sum / days : sameHour;
  let agreeing = 0;
  for (let day = 1; day <= 7; day += 1) {
    const other = rates[slotOf(hour - day * hoursOfDay)] ?? notSeen;
    if (other !== notSeen && other <= 2 * rate && other >= rate / 2) agreeing += 1;
  }
  return { rate, confidence: agreeing / days };
}
