import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { PassResult } from './assignment-pass.js';
import { AssignmentRunner } from './assignment-runner.js';
import type { AssignmentObservation } from './observations.js';

const quiet: PassResult = { changes: undefined, workers: new Map(), assignments: new Map(), unassigned: 0 };

/** A runner whose passes end when the test says so. */
function runnerTrial() {
  const clock = new FakeClock();
  const observed: AssignmentObservation[] = [];
  const passes: { end: (result?: PassResult) => void; fail: (error: Error) => void }[] = [];
  const runner = new AssignmentRunner({
    pass: () => new Promise((end, fail) => passes.push({ end: (result = quiet) => end(result), fail })),
    intervalMs: 5_000,
    clock,
    observe: (one) => observed.push(one),
  });
  /** Lets a pass end and advances the clock by what follows. */
  const after = async (ms: number): Promise<void> => {
    await Promise.resolve();
    await clock.advance(ms);
  };
  return { clock, observed, passes, runner, after };
}

describe('the runner of passes', () => {
  it('makes one at the start, at the interval, and at once when asked', async () => {
    const { passes, runner, after } = runnerTrial();
    await runner.start();
    expect(passes).toHaveLength(1);
    passes[0]?.end();
    await after(4_999);
    expect(passes).toHaveLength(1);
    await after(1);
    expect(passes).toHaveLength(2);
    passes[1]?.end();
    await after(0);
    runner.wake();
    await after(0);
    expect(passes).toHaveLength(3);
    passes[2]?.end();
    await runner.stop();
  });

  it('makes one more for any number of requests during a pass, after a pause as long as the pass', async () => {
    const { passes, runner, after } = runnerTrial();
    await runner.start();
    await after(200);
    for (let request = 0; request < 100; request += 1) runner.wake();
    passes[0]?.end();
    await after(199);
    expect(passes).toHaveLength(1);
    await after(1);
    expect(passes).toHaveLength(2);
    passes[1]?.end();
    await after(4_000);
    expect(passes).toHaveLength(2);
    await runner.stop();
  });

  it('looks again soon after a pass that changed something, then less and less often', async () => {
    const { passes, runner, after } = runnerTrial();
    const changes = {
      assigned: 1,
      moved: 0,
      drained: 0,
      removed: 0,
      routes: 0,
      unassigned: 0,
      offline: [],
      failed: [],
    };
    await runner.start();
    passes[0]?.end({ ...quiet, changes });
    for (const [index, waitMs] of [1_000, 2_000, 4_000, 5_000, 5_000].entries()) {
      await after(waitMs - 1);
      expect(passes).toHaveLength(index + 1);
      await after(1);
      expect(passes).toHaveLength(index + 2);
      passes[index + 1]?.end();
    }
    await runner.stop();
  });

  it('reports a pass that failed and soon makes the next', async () => {
    const { passes, runner, after, observed } = runnerTrial();
    await runner.start();
    passes[0]?.fail(new Error('the server is away'));
    await after(500);
    expect(observed).toMatchObject([{ kind: 'assignments.pass-failed' }]);
    expect(passes).toHaveLength(2);
    const lost = { collection: 'orders', workerId: 'two', problem: 'no table' };
    const changes = {
      assigned: 3,
      moved: 1,
      drained: 0,
      removed: 2,
      routes: 0,
      unassigned: 4,
      offline: ['one'],
      failed: [lost],
    };
    passes[1]?.end({ ...quiet, changes, unassigned: 4 });
    await after(0);
    expect(observed.slice(1)).toMatchObject([
      { kind: 'assignments.unassigned', unassigned: 4, isWorkerReady: false },
      { kind: 'collection-worker.status-changed', workerId: 'one', status: 'OFFLINE' },
      { kind: 'assignments.given-up', ...lost },
      { kind: 'assignments.passed', assigned: 3, moved: 1, removed: 2, unassigned: 4 },
    ]);
    await runner.stop();
  });
});
