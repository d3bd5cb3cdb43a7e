import { FakeClock } from '@drover/testkit';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Backlog, TriggerListener } from '../trigger-source.js';
import { BacklogMeasurements } from './backlog-measurements.js';

const never = new AbortController().signal;
const none: Backlog = { waiting: 0, oldestAgeMs: undefined };

let clock: FakeClock;
let asked: number;
let answer: () => Promise<Backlog>;
let measurements: BacklogMeasurements;
const listener = {
  measure: () => {
    asked += 1;
    return answer();
  },
} as Partial<TriggerListener> as TriggerListener; // nothing else of it is used

beforeEach(() => {
  clock = new FakeClock();
  asked = 0;
  answer = () => Promise.resolve(none);
  measurements = new BacklogMeasurements(clock);
});

async function eachSecond(seconds: number, isActive = false): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await measurements.measure(listener, isActive, never).catch(() => undefined);
    await clock.advance(1_000);
  }
}

describe('measurements of running triggers', () => {
  it('ask an idle source at growing intervals, up to ten seconds', async () => {
    await eachSecond(16);
    expect(asked).toBe(5); // after 1, 2, 4 and 8 seconds
    await eachSecond(100);
    expect(asked).toBeLessThanOrEqual(16);
  });

  it('ask each second while the application is active, or has a backlog', async () => {
    await eachSecond(60);
    asked = 0;
    await eachSecond(10, true);
    expect(asked).toBe(10);
    answer = () => Promise.resolve({ waiting: 5, oldestAgeMs: 1_000 });
    await eachSecond(20); // the first of them may still be known
    expect(asked).toBeGreaterThanOrEqual(29);
  });

  it('ask again in the next second after a failure, and never answer with what was known before', async () => {
    answer = () => Promise.resolve({ waiting: 5, oldestAgeMs: 1_000 });
    await eachSecond(1);
    answer = () => Promise.reject(new Error('away'));
    await expect(measurements.measure(listener, false, never)).rejects.toThrow('away');
    await clock.advance(1_000);
    answer = () => Promise.resolve(none);
    expect(await measurements.measure(listener, false, never)).toEqual(none);
    expect(asked).toBe(3);
  });
});
