import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { loadOf, policyWith, SimulatedApplication, triggerOf } from '../decisions/decisions.test.fixture.js';
import { limitOutcome } from '../decisions/decide.js';
import { DecisionLog } from './decision-log.js';
import { explainApplication } from './explain.js';
import { replayDecision } from './replay.js';

/** Runs an application through its life and records it as the scale controller does. */
function recorded(policy = {}): {
  app: SimulatedApplication;
  log: DecisionLog;
  run: (seconds: number, sample: () => object) => void;
} {
  const app = new SimulatedApplication(policy);
  const log = new DecisionLog();
  const run = (seconds: number, sample: () => object): void => {
    for (let second = 0; second < seconds; second += 1) {
      const before = app.state;
      app.step(sample);
      if (app.last && app.state !== before) log.record('default/hello', app.last.decision, app.policy);
    }
  };
  return { app, log, run };
}

const view = ({ app, log }: ReturnType<typeof recorded>): ReturnType<typeof explainApplication> =>
  explainApplication('hello', {
    desired: app.ready,
    workers: { ready: app.ready, starting: 0, draining: 0 },
    scaling: { minWorkers: 0, maxWorkers: 10, idleMs: 300_000, isPredictive: true },
    records: log.recordsOf('default/hello'),
  });

describe('the explanation of a number of workers', () => {
  it('answers why there are 3 workers: the rule, its values, and what bounds it', () => {
    const story = recorded();
    story.run(60, loadOf(20));
    expect(story.app.ready).toBe(3);
    expect(view(story).why).toBe('3 workers: demand wants 3 (20 concurrent invocations, 10 per worker)');
    story.run(60, loadOf(2));
    expect(view(story).why).toMatch(
      /^3 workers: .* wants 1 .*; 3 by stabilization: 3 were wanted within the last 300 s$/,
    );
  });

  it('says that an idle application needs none', () => {
    const story = recorded({ idleMs: 10_000 });
    story.run(5, loadOf(20));
    story.run(20, () => ({}));
    expect(view(story).why).toBe('0 workers, before 3: depth wants 0 (no event waits, idle for 11 s)');
  });

  it('still says so, with the time of that decision, while the application is parked', () => {
    const { app, log } = recorded({ idleMs: 10_000, isPredictive: false });
    const step = (sample: () => object): void => {
      app.step(sample);
      if (app.last) log.record('default/hello', app.last.decision, app.policy);
    };
    for (let second = 0; second < 5; second += 1) step(loadOf(20));
    for (let second = 0; second < 60; second += 1) step(() => ({}));
    const { why, decisions } = view({ app, log, run: () => undefined });
    expect(why).toBe('0 workers, before 3: depth wants 0 (no event waits, idle for 11 s)');
    expect(decisions.map(({ until }) => until.slice(0, 10))).toEqual(decisions.map(() => '2026-11-02'));
  });

  it('says of an application that never had an event that the first one starts a worker', () => {
    expect(view(recorded()).why).toBe('0 workers: no event has come yet, and the first one starts a worker');
  });

  it('says what a source cannot tell', () => {
    const story = recorded({ idleMs: 10_000 });
    story.run(5, loadOf(20));
    story.run(30, () => ({ triggers: [triggerOf({ problem: 'queue orders: access denied' })] }));
    expect(view(story).why).toContain('because a trigger could not be measured (orders: queue orders: access denied)');
  });

  it('lists decisions newest first and counts repeated ones', () => {
    const story = recorded();
    story.run(60, loadOf(20));
    const { decisions } = view(story);
    expect(decisions[0]?.count).toBeGreaterThan(10);
    expect(decisions.reduce((sum, { count }) => sum + count, 0)).toBe(60);
    expect(decisions.at(-1)?.previous).toBe(0);
    expect(decisions.map(({ at }) => at)).toEqual(
      decisions
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
  });
});

describe('a recorded decision', () => {
  it('is made again from its facts with the same result, after a way through JSON', () => {
    const story = recorded({ idleMs: 30_000, downStabilizationMs: 20_000 });
    for (let round = 0; round < 6; round += 1) {
      story.run(20, loadOf(5 + round * 7));
      story.run(10, () => ({ isBackpressured: true, inFlight: 40, waiting: 100 }));
      story.run(45, () => ({}));
    }
    const records = story.log.recordsOf('default/hello');
    expect(records).toHaveLength(2);
    const busy = recorded({ downStabilizationMs: 20_000 });
    for (let round = 0; round < 6; round += 1) {
      busy.run(20, loadOf(5 + round * 7));
      busy.run(10, () => ({ isBackpressured: true, inFlight: 40, waiting: 100 }));
    }
    const all = [...records, ...busy.log.recordsOf('default/hello')];
    expect(all.length).toBeGreaterThan(12);
    expect(all.map((record) => replayDecision(record).isSame)).toEqual(all.map(() => true));
    expect(view(busy).decisions.every(({ isReproducible }) => isReproducible)).toBe(true);
  });

  it('is noticed if its facts do not give its result', () => {
    const story = recorded();
    story.run(10, loadOf(20));
    const [record] = story.log.recordsOf('default/hello');
    if (!record) return expect.unreachable();
    const forged = { ...record, decision: { ...record.decision, desired: record.decision.desired + 1 } };
    expect(replayDecision(forged).isSame).toBe(false);
  });

  it('answers what another policy would have decided', () => {
    const story = recorded();
    story.run(10, loadOf(50));
    const [record] = story.log.recordsOf('default/hello');
    if (!record) return expect.unreachable();
    expect(replayDecision(record, policyWith({ maxWorkers: 2 })).desired).toBe(2);
  });

  it('keeps the share of its tenant as a bound of its own', () => {
    const { app, log } = recorded();
    app.run(2, loadOf(50));
    if (!app.last) return expect.unreachable();
    log.record('default/hello', limitOutcome(app.last, 2).decision, app.policy);
    const [record] = log.recordsOf('default/hello');
    expect(record?.decision).toMatchObject({ desired: 2, cause: 'tenant-share' });
    expect(record && replayDecision(record).isSame).toBe(true);
  });
});

describe('the log of decisions', () => {
  it('keeps 32 records of a running application and 2 of one at zero', () => {
    const story = recorded({ idleMs: 20_000, maxWorkers: 50, downStabilizationMs: 6_000, stableWindowMs: 6_000 });
    for (let round = 0; round < 40; round += 1) story.run(20, loadOf(round % 2 ? 5 : 60));
    expect(story.log.recordsOf('default/hello')).toHaveLength(32);
    story.run(60, () => ({}));
    expect(story.app.ready).toBe(0);
    expect(story.log.recordsOf('default/hello')).toHaveLength(2);
    story.log.forget('default/hello');
    expect(story.log.recordsOf('default/hello')).toEqual([]);
  });

  it('takes a few KiB for an application at zero, its state and a pattern of the week included', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heapBytes = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const stories: ReturnType<typeof recorded>[] = [];
    const before = heapBytes();
    for (let application = 0; application < 100; application += 1) {
      const story = recorded({ idleMs: 2_000, downStabilizationMs: 2_000 });
      for (let day = 0; day < 8; day += 1) {
        story.app.nowMs += 23 * 3_600_000;
        story.run(3, loadOf(20));
        story.run(4, () => ({}));
      }
      expect(story.app.ready).toBe(0);
      stories.push(story);
    }
    expect((heapBytes() - before) / stories.length).toBeLessThan(16 * 1_024);
  });
});
