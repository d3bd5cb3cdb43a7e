import { describe, expect, it } from 'vitest';
import { sampleOf, triggerOf } from './decisions.test.fixture.js';
import { mergeSamples } from './merge-samples.js';
import { sourceTargets, targetLoadOf } from './source-targets.js';

describe('what one worker takes of a source', () => {
  it.each([
    ['queueTrigger', 24],
    ['serviceBusTrigger', 16],
    ['eventHubTrigger', 100],
    ['blobTrigger', 8],
    ['timerTrigger', 1],
    ['somethingNew', 16],
  ])('%s: %i', (type, perWorker) => {
    expect(targetLoadOf({ type, waiting: perWorker * 3 })).toBe(3);
    expect(targetLoadOf({ type, waiting: 0 })).toBe(0);
  });

  it('comes from host.json where the runtime reports it', () => {
    for (const type of sourceTargets.keys()) expect(targetLoadOf({ type, waiting: 100, targetPerWorker: 50 })).toBe(2);
  });

  it('is a fraction, so that several small backlogs share a worker', () => {
    expect(targetLoadOf({ type: 'queueTrigger', waiting: 6 })).toBe(0.25);
  });

  it('is bounded by sessions', () => {
    expect(targetLoadOf({ type: 'serviceBusTrigger', waiting: 1_000, maxUsefulWorkers: 3 })).toBe(3);
  });

  it.each([
    [100, 1],
    [101, 2],
    [800, 8],
    [801, 11],
    [1_000, 11],
    [1_100, 11],
    [1_101, 16],
    [1_601, 32],
    [90_000, 32],
  ])('splits 32 partitions evenly: a lag of %i is worth %i workers', (waiting, workers) => {
    const load = targetLoadOf({ type: 'eventHubTrigger', waiting, maxUsefulWorkers: 32 });
    expect(Math.ceil(load)).toBe(workers);
  });
});

describe('samples of several runtimes', () => {
  it('are one sample: invocations summed, service time by completions', () => {
    const a = sampleOf({
      inFlight: 3,
      waiting: 1,
      capacity: 20,
      arrivals: 5,
      completions: 30,
      meanServiceMs: 100,
      readyWorkers: 1,
      cpu: 0.3,
    });
    const b = sampleOf({
      inFlight: 4,
      capacity: 40,
      arrivals: 6,
      completions: 10,
      meanServiceMs: 300,
      readyWorkers: 2,
      cpu: 0.6,
    });
    const merged = mergeSamples([a, b]);
    expect(merged).toMatchObject({
      inFlight: 7,
      waiting: 1,
      capacity: 60,
      arrivals: 11,
      completions: 40,
      readyWorkers: 3,
    });
    expect(merged?.meanServiceMs).toBe(150);
    expect(merged?.cpu).toBeCloseTo(0.5);
  });

  it('see the same source: the largest backlog counts once, and a problem only if no runtime could measure', () => {
    const merge = (a: object, b: object): unknown =>
      mergeSamples([sampleOf({ triggers: [triggerOf(a)] }), sampleOf({ triggers: [triggerOf(b)] })])?.triggers;
    expect(merge({ waiting: 10, oldestAgeMs: 5 }, { waiting: 12 })).toMatchObject([{ waiting: 12, oldestAgeMs: 5 }]);
    expect(merge({ problem: 'no access' }, { waiting: 3 })).toEqual([triggerOf({ waiting: 3 })]);
    expect(merge({ waiting: 3 }, { problem: 'no access' })).toEqual([triggerOf({ waiting: 3 })]);
    expect(merge({ problem: 'no access' }, { problem: 'timeout' })).toEqual([triggerOf({ problem: 'timeout' })]);
  });

  it('add up the calls of each version', () => {
    const a = sampleOf({ versions: { v1: { completions: 3, failures: 1, p95ServiceMs: 10 } } });
    const b = sampleOf({
      versions: { v1: { completions: 2, failures: 0, p95ServiceMs: 20 }, v2: { completions: 1, failures: 0 } },
    });
    expect(mergeSamples([a, b])?.versions).toEqual({
      v1: { completions: 5, failures: 1, p95ServiceMs: 20 },
      v2: { completions: 1, failures: 0 },
    });
  });

  it('may be none or one', () => {
    const only = sampleOf({ inFlight: 1 });
    expect(mergeSamples([])).toBeUndefined();
    expect(mergeSamples([only])).toBe(only);
  });
});
