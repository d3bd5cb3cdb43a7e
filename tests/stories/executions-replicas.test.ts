import type { ExecutionStatus } from '@drover/contracts';
import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { ExecutionLoad } from '../support/execution-load.js';
import { innocent, judge } from '../support/execution-verdict.js';
import { forEach, good, report, seeded, times, type FunctionsClient } from '../support/executions.js';
import { names, registerAll, withReplicas } from '../support/replicas.js';
import { restartInTurn } from '../support/rolling-restart.js';

async function listed(api: FunctionsClient, query: string): Promise<readonly ExecutionStatus[]> {
  const page = good<{ executions: readonly ExecutionStatus[] }>(
    await api.request('GET', `/v1/executions?${query}`),
    200,
  );
  return page.executions;
}

describe('replicas of the control plane', () => {
  it('serve every function through any of them, hold its limit together, and take over from one that is killed', () =>
    withReplicas({}, async (set) => {
      const { ledger } = set;
      const loud = { DROVER_LOG_LEVEL: 'debug' }; // which replica has which partitions is nothing for every log
      const [one, two, three] = [await set.start(loud), await set.start(loud), await set.start(loud)];
      await registerAll(one.api, ledger, 1);
      const ids: string[] = [];
      for (const { api } of [one, two, three])
        for (const name of names) {
          const called = good<ExecutionStatus>(await api.invoke(name, { n: 1 }), 200);
          expect(called).toMatchObject({ status: 'success', output: { n: 1 } });
          ids.push(await api.accepted(name, { workMs: 5 }));
        }
      for (const { api } of [one, two, three]) {
        for (const id of ids) expect(await api.ended(id)).toMatchObject({ status: 'success' });
        const seen = (await listed(api, 'limit=200')).map(({ executionId }) => executionId);
        expect(seen).toEqual(expect.arrayContaining(ids));
      }
      const held = [one, two, three].map((replica) => replica.logged('ownership.acquired').length > 0);
      expect(held).toEqual([true, true, true]);

      const load = new ExecutionLoad({
        api: set.client(() => [one, two]),
        functions: names,
        perSecond: 100,
        chance: seeded(3),
      });
      try {
        await eventually(() => load.accepted.length > 150);
        // What it is just running, and what waits for that, has to go on elsewhere.
        const left: string[] = [];
        for (const name of names)
          left.push(...(await two.api.acceptedBatch(name, times(5, { input: { workMs: 50 } }))));
        const fromMs = Date.now();
        three.child.kill('SIGKILL');
        const takenOverMs: number[] = [];
        await forEach(names, names.length, async (name) => {
          await eventually(() => one.api.accepted(name, {}));
          takenOverMs.push(Date.now() - fromMs);
        });
        const mark = load.accepted.length;
        await eventually(() => load.accepted.length > mark + 100);
        await load.stop();
        const fault = { fromMs, toMs: fromMs + Math.max(...takenOverMs) };
        const accepted = [...load.accepted, ...left.map((executionId) => ({ executionId, functionName: 'left' }))];
        const verdict = await judge({ api: two.api, accepted, ledger, faults: [fault], withinMs: 30_000 });
        report('one of three killed', {
          takenOverMs: Math.max(...takenOverMs),
          accepted: accepted.length,
          statuses: Object.fromEntries(load.statuses),
          repeats: ledger.repeats,
        });
        expect(verdict).toEqual(innocent);
        for (const name of names) expect(ledger.mostAtOnce(name)).toBe(1);
      } finally {
        load.giveUp();
      }
    }));

  it('are restarted one after the other, and no call fails', async () => {
    const { failed, violations, exits, ...figures } = await restartInTurn({
      perSecond: 100,
      isEnough: (turn) => turn === 3,
    });
    report('rolling restart', { ...figures, failed: failed.length });
    expect(failed).toEqual([]);
    expect(violations).toEqual([]);
    expect(exits).toEqual(times(3, { code: 0, signal: null }));
    expect(figures.repeats).toBe(0);
  });

  it('take over from one that is frozen past its time, and its late answers change nothing', () => {
    const answers = new Map<number, () => void>();
    return withReplicas({ DROVER_HOME_TTL_MS: '2000' }, async (set) => {
      const { ledger } = set;
      ledger.work = ({ attempt }, { n = 0 }) =>
        attempt > 1
          ? { attempt }
          : new Promise((resolve) => {
              answers.set(n, () => resolve({ attempt }));
            });
      const [frozen, other] = [await set.start(), await set.start()];
      await registerAll(other.api, ledger);
      const ids = new Map<string, string>();
      for (const [n, name] of names.entries()) ids.set(name, await eventually(() => other.api.accepted(name, { n })));
      await eventually(() => expect(answers.size).toBe(names.length));
      frozen.child.kill('SIGSTOP');
      const frozenMs = Date.now();
      // The frozen replica does not read its answers. The other one has read its own, and they are final.
      for (const answer of answers.values()) answer();
      const results = new Map<string, ExecutionStatus>();
      for (const [name, id] of ids) results.set(name, await eventually(() => other.api.ended(id)));
      const takenOverMs = Date.now() - frozenMs;
      const again = [...results].filter(([, { attempts }]) => attempts > 1).map(([name]) => name);
      report('one of two frozen', { takenOverMs, taken: again.length });
      expect(again.length).toBeGreaterThan(0);
      expect(again.length).toBeLessThan(names.length);
      for (const { status, attempts, output } of results.values())
        expect({ status, output }).toEqual({ status: 'success', output: { attempt: attempts } });

      frozen.child.kill('SIGCONT');
      // It sees that it is not the home any more, and passes on what it is asked.
      await eventually(async () => expect(frozen.logged('ownership.lost').length).toBeGreaterThan(0));
      for (const { api } of [frozen, other])
        for (const [name, id] of ids) expect(await eventually(() => api.execution(id))).toEqual(results.get(name));
      const unique = new Set((await listed(other.api, 'limit=200')).map(({ executionId }) => executionId));
      expect(unique.size).toBe(names.length);
      await eventually(async () => expect(await frozen.isReady()).toBe(true));
      ledger.work = () => 'after';
      for (const name of names) {
        const id = await eventually(() => frozen.api.accepted(name, {}, { 'idempotency-key': 'after' }));
        expect(await frozen.api.ended(id)).toMatchObject({ status: 'success', output: 'after', attempts: 1 });
      }
      expect(ledger.violations).toEqual([]);
      expect(isAlive(frozen.child.pid)).toBe(true);
    });
  });
});
