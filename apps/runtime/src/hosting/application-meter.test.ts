import { describe, expect, it } from 'vitest';
import { ApplicationMeter } from './application-meter.js';

describe('the meter of an application', () => {
  it('reads what happened since the reading before, by version', () => {
    const meter = new ApplicationMeter();
    for (let n = 1; n <= 100; n += 1) {
      meter.arrive();
      meter.record(n % 10 === 0 ? 'new' : 'old', n, n % 20 === 0);
    }
    meter.arrive();
    expect(meter.read()).toEqual({
      arrivals: 101,
      completions: 100,
      failures: 5,
      meanServiceMs: 50.5,
      p95ServiceMs: 95,
      versions: {
        old: { completions: 90, failures: 0, p95ServiceMs: 95 },
        new: { completions: 10, failures: 5, p95ServiceMs: 100 },
      },
    });
    expect(meter.read()).toEqual({
      arrivals: 0,
      completions: 0,
      failures: 0,
      meanServiceMs: undefined,
      p95ServiceMs: undefined,
      versions: {},
    });
  });

  it('keeps a bounded number of durations, of the whole second', () => {
    const meter = new ApplicationMeter();
    for (let n = 0; n < 5_000; n += 1) meter.record('v', n < 4_000 ? 1 : 100, false);
    expect(meter.read()).toMatchObject({ completions: 5_000, p95ServiceMs: 100 });
  });
});
