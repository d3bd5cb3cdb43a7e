import { describe, expect, it } from 'vitest';
import { decide } from './decide.js';
import {
  inputOf,
  loadOf,
  monday,
  policyWith,
  sampleOf,
  SimulatedApplication,
  triggerOf,
} from './decisions.test.fixture.js';
import { initialScaleState } from './state.js';

const idle = (): object => ({});
const fiveMinutes = 300;

describe('an application at zero', () => {
  it('gets a worker in the decision that the event itself causes', () => {
    const { state, decision } = decide(initialScaleState(0, monday), inputOf({ wakes: ['event'] }), policyWith());
    expect([state.desired, decision.cause, decision.previous]).toEqual([1, 'depth', 0]);
  });

  it('gets as many workers as the backlog of its first sample is worth', () => {
    const app = new SimulatedApplication();
    expect(app.step(() => ({ triggers: [triggerOf({ waiting: 100 })] }))).toBe(5);
    expect(app.last?.decision.cause).toBe('target');
  });

  it('gets one worker for a deployment and gives it back when idle', () => {
    const app = new SimulatedApplication();
    expect(app.step(idle, { wakes: ['deployed'] })).toBe(1);
    expect(app.run(fiveMinutes, idle)).toEqual(Array.from({ length: fiveMinutes }, () => 1));
    expect(app.step(idle)).toBe(0);
  });

  it('is not computed again while nothing happens', () => {
    const app = new SimulatedApplication();
    app.step(idle);
    const before = app.state;
    app.step(() => undefined);
    app.step(idle);
    expect(app.state).toBe(before);
  });

  it('stays there without a sample', () => {
    const app = new SimulatedApplication();
    expect(app.run(10, () => undefined)).toEqual(Array.from({ length: 10 }, () => 0));
  });

  it('keeps its minimum', () => {
    const app = new SimulatedApplication({ minWorkers: 2 });
    expect(app.run(400, idle).at(-1)).toBe(2);
    expect(app.last?.decision.cause).toBe('min');
  });
});

describe('growth', () => {
  it('follows demand: arrivals × service time over concurrency at 70 %', () => {
    const app = new SimulatedApplication({}, { workers: 1 });
    app.run(60, loadOf(25));
    expect(app.ready).toBe(4);
  });

  it('counts what is starting: the same demand asks for nothing more', () => {
    const policy = policyWith();
    const sample = sampleOf({ waiting: 30, capacity: 10, inFlight: 10 });
    const first = decide(
      initialScaleState(1, monday),
      inputOf({ sample, workers: { ready: 1, starting: 0, draining: 0 } }),
      policy,
    );
    const nowMs = monday + 1_000;
    const workers = { ready: 1, starting: first.state.desired - 1, draining: 0 };
    const second = decide(first.state, inputOf({ nowMs, sample, workers }), policy);
    expect(first.state.desired).toBeGreaterThan(1);
    expect(second.state.desired).toBe(first.state.desired);
  });

  it('is limited to twice or ten more within 15 s', () => {
    const app = new SimulatedApplication({ maxWorkers: 100 }, { workers: 1 });
    const backlog = (): object => ({ triggers: [triggerOf({ waiting: 100_000 })] });
    expect(app.run(31, backlog)).toEqual([
      ...Array.from({ length: 15 }, () => 11),
      ...Array.from({ length: 15 }, () => 22),
      44,
    ]);
    expect(app.last?.decision.cause).toBe('slew-up');
  });

  it('is limited by the second in panic', () => {
    const app = new SimulatedApplication({ maxWorkers: 100 }, { workers: 1 });
    const full = (): object => ({ isBackpressured: true, inFlight: 10, waiting: 5_000 });
    expect(app.run(4, full)).toEqual([11, 22, 44, 88]);
    expect(app.last?.decision.isPanic).toBe(true);
  });

  it('never passes the maximum', () => {
    const app = new SimulatedApplication({ maxWorkers: 3 }, { workers: 1 });
    expect(app.step(() => ({ waiting: 10_000 }))).toBe(3);
    expect(app.last?.decision.clamps.at(-1)).toEqual({ clamp: 'max', from: 11, to: 3 });
  });

  it('stops at the partitions of an event hub, which are split evenly', () => {
    const hub = (waiting: number) => (): object => ({
      triggers: [triggerOf({ type: 'eventHubTrigger', waiting, maxUsefulWorkers: 8 })],
    });
    expect(new SimulatedApplication({ maxWorkers: 50 }, { workers: 1 }).step(hub(450))).toBe(8);
    expect(new SimulatedApplication({ maxWorkers: 50 }, { workers: 1 }).step(hub(250))).toBe(3);
    expect(new SimulatedApplication({ maxWorkers: 50 }, { workers: 1 }).step(hub(90_000))).toBe(8);
  });

  it('stops when more workers bring no more completions, and says so', () => {
    const app = new SimulatedApplication({ maxWorkers: 100, plateauMs: 60_000 }, { workers: 2 });
    const stuck = (): object => ({ completions: 50, inFlight: 20, triggers: [triggerOf({ waiting: 200 })] });
    app.run(10, loadOf(5));
    app.step(stuck);
    const reached = app.ready;
    app.run(20, stuck);
    const grows = (): object => ({ completions: 50, inFlight: 20, triggers: [triggerOf({ waiting: 2_000 })] });
    expect(app.step(grows)).toBe(reached);
    expect(app.last?.decision.clamps.map(({ clamp }) => clamp)).toContain('plateau');
    app.run(60, grows);
    expect(app.ready).toBeGreaterThan(reached);
  });
});

describe('panic', () => {
  it('begins when six seconds want twice the ready workers, and lets nothing go for a stable window', () => {
    const app = new SimulatedApplication({ downStabilizationMs: 10_000, maxWorkers: 20 }, { workers: 2 });
    app.run(60, loadOf(5));
    expect(app.last?.decision.isPanic).toBe(false);
    app.run(6, loadOf(60));
    const peak = app.ready;
    expect(app.last?.decision.isPanic).toBe(true);
    expect(peak).toBeGreaterThanOrEqual(8);
    expect(Math.min(...app.run(54, loadOf(5)))).toBe(peak);
    app.run(120, loadOf(5));
    expect(app.ready).toBeLessThan(peak);
    expect(app.last?.decision.isPanic).toBe(false);
  });
});

describe('shrinkage', () => {
  it('takes the highest number of the last five minutes', () => {
    const app = new SimulatedApplication({}, { workers: 1 });
    app.run(300, loadOf(40));
    const peak = app.ready;
    expect(Math.min(...app.run(290, loadOf(5)))).toBe(peak);
    app.run(120, loadOf(5));
    expect(app.ready).toBeLessThan(peak / 2);
  });

  it('halves at most in 15 s, and gives up at least one', () => {
    const app = new SimulatedApplication({ downStabilizationMs: 6_000, panicRatio: 1_000 }, { workers: 9 });
    const numbers = app.run(200, loadOf(1));
    expect([...new Set(numbers)]).toEqual([9, 4, 2, 1]);
  });

  it('ends all workers of an idle application at once', () => {
    const app = new SimulatedApplication({ idleMs: 20_000 }, { workers: 9 });
    const numbers = app.run(30, idle);
    expect(numbers.indexOf(0)).toBe(20);
    expect(new Set(numbers)).toEqual(new Set([9, 0]));
  });

  it('needs the agreement of all rules', () => {
    const app = new SimulatedApplication({}, { workers: 6 });
    app.run(700, () => ({ ...loadOf(5)(), cpu: 0.65 }));
    expect(app.ready).toBe(6);
  });

  it('leaves a constant load alone for hours', () => {
    const app = new SimulatedApplication({}, { workers: 1 });
    app.run(1_000, loadOf(33));
    expect(new Set(app.run(3_000, loadOf(33))).size).toBe(1);
  });

  it('ignores deviations within the tolerance', () => {
    const app = new SimulatedApplication({ maxWorkers: 50, downStabilizationMs: 6_000 }, { workers: 20 });
    app.run(100, loadOf(140));
    expect(app.ready).toBe(20);
    expect(new Set(app.run(300, loadOf(150)))).toEqual(new Set([20]));
    expect(app.last?.decision.cause).toBe('tolerance');
  });
});

describe('what is not known', () => {
  it('holds the last decision when samples stop, for as long as it takes', () => {
    const app = new SimulatedApplication({}, { workers: 1 });
    app.run(60, loadOf(33));
    const held = app.ready;
    expect(new Set(app.run(2_000, () => undefined))).toEqual(new Set([held]));
    expect(app.last?.decision.cause).toBe('unknown');
    expect(app.last?.decision.facts.isStale).toBe(true);
  });

  it('holds the last decision when a trigger cannot be measured, and still grows by what is known', () => {
    const app = new SimulatedApplication({ idleMs: 20_000 }, { workers: 3 });
    const broken = { triggers: [{ functionName: 'orders', type: 'queueTrigger', problem: 'access denied' }] };
    expect(new Set(app.run(600, () => broken))).toEqual(new Set([3]));
    expect(app.last?.decision.facts.problem).toBe('orders: access denied');
    expect(app.step(() => ({ ...broken, waiting: 60, inFlight: 30 }))).toBeGreaterThan(3);
  });

  it('does not count as idle time', () => {
    const app = new SimulatedApplication({ idleMs: 20_000 }, { workers: 1 });
    app.run(15, idle);
    app.run(100, () => undefined);
    expect(app.run(4, idle)).toEqual([1, 1, 1, 1]);
    expect(app.run(10, idle)).toContain(0);
  });

  it('does not take back in a panic what was given up for the memory of the runtime', () => {
    const app = new SimulatedApplication({}, { workers: 6 });
    const full = (): object => ({ isBackpressured: true, inFlight: 60, waiting: 5 });
    app.step(full);
    const reduced = app.step(full, { runtimeMemory: 0.95 });
    expect(app.last?.decision.isPanic).toBe(true);
    expect(app.step(() => undefined)).toBe(reduced);
  });

  it('adopts the workers that are there when nothing is remembered', () => {
    const workers = { ready: 3, starting: 1, draining: 1 };
    expect(decide(undefined, inputOf({ workers }), policyWith()).state.desired).toBe(4);
  });

  it('is replaced, not reduced, when a worker is lost', () => {
    const app = new SimulatedApplication({}, { workers: 3 });
    app.run(5, loadOf(15));
    app.ready = 2;
    expect(app.step(loadOf(15), { wakes: ['replace'] })).toBe(3);
  });
});

describe('memory of the runtime', () => {
  const busy = { inFlight: 20, waiting: 100 };

  it('stops growth above 70 %, but not the first worker', () => {
    const app = new SimulatedApplication({}, { workers: 2 });
    expect(app.step(() => busy, { runtimeMemory: 0.75 })).toBe(2);
    expect(app.last?.decision.cause).toBe('runtime-memory');
    expect(new SimulatedApplication().step(() => busy, { runtimeMemory: 0.95 })).toBe(1);
  });

  it('takes two workers at a time above 90 % and stops under 85 %, not the last one', () => {
    const app = new SimulatedApplication({}, { workers: 7 });
    const at = (runtimeMemory: number, seconds: number): number[] =>
      Array.from({ length: seconds }, () => app.step(() => busy, { runtimeMemory }));
    expect(new Set(at(0.95, 15))).toEqual(new Set([5]));
    expect(at(0.86, 1)).toEqual([3]);
    expect(new Set(at(0.84, 40))).toEqual(new Set([3]));
    expect(at(0.95, 40).at(-1)).toBe(1);
  });
});
