import { describe, expect, it } from 'vitest';
import { decide } from './decide.js';
import { inputOf, loadOf, monday, policyWith, sampleOf, SimulatedApplication } from './decisions.test.fixture.js';
import { keepAliveMs, recordIdleTime, warmTime } from './idle-times.js';
import { initialScaleState } from './state.js';
import type { ScaleState, WeekPattern } from './types.js';
import { countEvents, emptyPattern, patternForecast } from './week-pattern.js';

const hour = 3_600_000;
const day = 24 * hour;

/** So many days with `perSecond` events from nine to ten, each hour counted as it passes. */
function nineToTen(days: number, perSecond: (dayOfTrace: number) => number): WeekPattern {
  let pattern = emptyPattern(monday);
  for (let passed = 0; passed < days * 24; passed += 1) {
    const isNine = passed % 24 === 9;
    pattern = countEvents(pattern, monday + passed * hour, isNine ? perSecond(Math.floor(passed / 24)) * 3_600 : 0);
  }
  return countEvents(pattern, monday + days * day, 0);
}

describe('the pattern of the week', () => {
  it('expects what the same hour had on the days before, with the share of days that agree', () => {
    const pattern = nineToTen(4, () => 12);
    expect(patternForecast(pattern, monday + 4 * day + 9 * hour)).toEqual({ rate: 12, confidence: 1 });
    expect(patternForecast(pattern, monday + 4 * day + 8 * hour)).toEqual({ rate: 0, confidence: 1 });
  });

  it('expects nothing of a single day', () => {
    expect(
      patternForecast(
        nineToTen(1, () => 12),
        monday + day + 9 * hour,
      ),
    ).toBeUndefined();
  });

  it('knows the weekend after a week', () => {
    const workdays = nineToTen(14, (passed) => (passed % 7 < 5 ? 12 : 0));
    expect(patternForecast(workdays, monday + 14 * day + 9 * hour)?.rate).toBe(12);
    expect(patternForecast(workdays, monday + 19 * day + 9 * hour)?.rate ?? 0).toBe(0);
  });

  it('is not used where "as in the hour before" has been the better forecast', () => {
    // Each day is busier than the days before, all day long: the pattern is always late.
    let pattern = emptyPattern(monday);
    for (let passed = 0; passed < 10 * 24; passed += 1)
      pattern = countEvents(pattern, monday + passed * hour, 3_600 * 2 ** Math.floor(passed / 24));
    pattern = countEvents(pattern, monday + 10 * day, 0);
    expect(pattern.error).toBeGreaterThan(pattern.lastValueError);
    expect(patternForecast(pattern, monday + 10 * day + 9 * hour)).toBeUndefined();
  });

  it('starts a worker of an application at zero before the hour, once, and gives it back', () => {
    const pattern = nineToTen(3, () => 2);
    const policy = policyWith();
    const nine = monday + 3 * day + 9 * hour;
    let state: ScaleState = { ...initialScaleState(0, monday), pattern };
    const at = (nowMs: number): number => {
      const workers = { ready: state.desired, starting: 0, draining: 0 };
      const outcome = decide(state, inputOf({ nowMs, startMs: 2_000, workers, sample: sampleOf() }), policy);
      ({ state } = outcome);
      return state.desired;
    };
    expect(at(nine - 60_000)).toBe(0);
    expect(at(nine - 4_000)).toBe(0);
    expect(at(nine - 2_000)).toBe(1);
    expect(at(nine + 60_000)).toBe(1);
    expect(at(nine + 301_000)).toBe(0);
    expect(at(nine + 302_000)).toBe(0);
  });

  it('starts nothing where prediction is switched off', () => {
    const state: ScaleState = { ...initialScaleState(0, monday), pattern: nineToTen(3, () => 2) };
    const input = inputOf({ nowMs: monday + 3 * day + 9 * hour - 1_000, startMs: 2_000 });
    expect(decide(state, input, policyWith({ isPredictive: true })).state.desired).toBe(1);
    expect(decide(state, input, policyWith({ isPredictive: false })).state.desired).toBe(0);
  });
});

describe('the slope of arrivals', () => {
  const ramp = (app: SimulatedApplication, startMs: number): number => {
    for (let second = 1; second <= 40; second += 1) app.step(() => loadOf(second * 2)(), { startMs });
    return app.ready;
  };

  it('sizes for the moment at which a worker that is asked for now is ready', () => {
    const soon = ramp(new SimulatedApplication({ maxWorkers: 100 }, { workers: 1 }), 500);
    const later = ramp(new SimulatedApplication({ maxWorkers: 100 }, { workers: 1 }), 20_000);
    expect(later).toBeGreaterThan(soon);
  });

  it('is not used when it has been worse than the last value', () => {
    const app = new SimulatedApplication({ maxWorkers: 100 }, { workers: 1 });
    for (let round = 0; round < 60; round += 1) app.step(() => loadOf(round % 12 < 6 ? 60 : 1)(), { startMs: 6_000 });
    expect(app.state?.slope.error).toBeGreaterThan(app.state?.slope.lastValueError ?? 0);
    expect(app.last?.decision.facts.forecast).toBeUndefined();
  });
});

describe('idle times', () => {
  const times = (...minutes: number[]): readonly number[] =>
    minutes.reduce<readonly number[]>((known, value) => recordIdleTime(known, value * 60_000), []);

  it('keep a worker for longer if that saves a cold start', () => {
    expect(keepAliveMs(times(6, 6, 6, 7, 6, 6, 6, 6), 300_000)).toBe(7 * 63_000);
    expect(keepAliveMs(times(20, 20, 20, 20, 20, 20, 20, 20), 300_000)).toBe(0);
    expect(keepAliveMs(times(6, 6), 300_000)).toBe(0);
  });

  it('say when the next event is to be expected', () => {
    expect(warmTime(times(60, 60, 61, 60, 60, 59, 60, 60), 300_000)).toEqual({
      fromMs: 59 * 60_000,
      untilMs: 61 * 63_000,
    });
    expect(warmTime(times(60, 5, 200, 31, 3, 90, 45, 10), 300_000)).toBeUndefined();
    expect(warmTime(times(60, 60), 300_000)).toBeUndefined();
  });

  it('are the last ones, without pauses that mean nothing', () => {
    expect(recordIdleTime([1, 2], 9_000)).toEqual([1, 2]);
    expect(times(...Array.from({ length: 50 }, (_, index) => index + 1))).toHaveLength(24);
  });

  it('start a worker shortly before an event that comes each hour', () => {
    const app = new SimulatedApplication();
    const jump = (minutes: number): void => void (app.nowMs += minutes * 60_000);
    for (let round = 0; round < 9; round += 1) {
      app.step(() => ({ arrivals: 1, completions: 1, meanServiceMs: 5 }));
      app.run(310, () => ({}));
      jump(54);
    }
    app.step(() => ({ arrivals: 1, completions: 1, meanServiceMs: 5 }));
    app.run(310, () => ({}));
    expect(app.ready).toBe(0);
    jump(30);
    expect(app.step(() => ({}))).toBe(0);
    jump(23.9);
    expect(app.run(10, () => ({})).at(-1)).toBe(1);
    expect(app.last?.decision.cause).toBe('prewarm');
    jump(10);
    expect(app.step(() => ({}))).toBe(0);
  });
});
