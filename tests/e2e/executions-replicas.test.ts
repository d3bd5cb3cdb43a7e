import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutionStatus } from '@drover/contracts';
import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { ExecutionLoad } from './execution-load.js';
import { innocent, judge } from './execution-verdict.js';
import { forEach, good, percentile, report, seeded, times, type FunctionsClient, type Reply } from './executions.js';
import { withReplicas, type Replica } from './replicas.js';
import type { RunLedger } from './run-ledger.js';

/** Enough that every replica is the home of some. */
const names = Array.from({ length: 10 }, (_, number) => `f${number}`);

async function registerAll(api: FunctionsClient, ledger: RunLedger, concurrency = 4): Promise<void> {
  for (const name of names)
    await api.register({
      name,
      executionMode: 'POOL',
      endpointUrl: ledger.url(name),
      queueSize: 100_000,
      timeoutMs: 20_000,
      concurrency,
    });
}

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
      const [one, two, three] = [await set.start(), await set.start(), await set.start()];
      await registerAll(one.api, ledger, 1);
      const ids: string[] = [];
      for (const { api } of [one, two, three])
        for (const name of names) {
          // Another replica hears of a registration a moment later; until then it does not know the function.
          const called = await eventually(async () => good<ExecutionStatus>(await api.invoke(name, { n: 1 }), 200));
          expect(called).toMatchObject({ status: 'success', output: { n: 1 } });
          ids.push(await api.accepted(name, { workMs: 5 }));
        }
      for (const { api } of [one, two, three]) {
        for (const id of ids) expect(await api.ended(id)).toMatchObject({ status: 'success' });
        const seen = (await listed(api, 'limit=200')).map(({ executionId }) => executionId);
        expect(seen).toEqual(expect.arrayContaining(ids));
      }
      const held = [one, two, three].map((replica) => replica.logged('homes.gained').length > 0);
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
          await eventually(() => one.api.accepted(name, {}), 20_000);
          takenOverMs.push(Date.now() - fromMs);
        });
        const mark = load.accepted.length;
        await eventually(() => load.accepted.length > mark + 100, 20_000);
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
        expect(Math.max(...takenOverMs)).toBeLessThanOrEqual(5_000);
      } finally {
        load.giveUp();
      }
    }));

  it('are restarted one after the other, and no call fails', () =>
    // As a router has it: it looks every 50 ms who is ready, and a replica serves on for a while after it has said no.
    withReplicas({ DROVER_DRAIN_DELAY_MS: '500' }, async (set) => {
      const { ledger } = set;
      let serving: readonly Replica[] = [await set.start(), await set.start(), await set.start()];
      const router = new Router(serving);
      const api = set.client(() => router.ready);
      await registerAll(api, ledger);
      for (const name of names)
        for (const replica of serving) await eventually(async () => good(await replica.api.invoke(name, {}), 200));
      const calls = new SyncCalls(api, 100);
      try {
        for (const [index, old] of serving.entries()) {
          const next = await set.start();
          router.add(next);
          old.child.kill('SIGTERM');
          expect(await old.child.exited).toEqual({ code: 0, signal: null });
          serving = serving.map((replica, at) => (at === index ? next : replica));
          const mark = calls.replies.length;
          await eventually(() => calls.replies.length > mark + 100, 20_000);
        }
        await calls.stop();
        const failed = calls.replies.filter(({ status }) => status !== 200);
        report('rolling restart', {
          calls: calls.replies.length,
          retriedAfter503: calls.retried,
          failed: failed.length,
          p99: percentile(
            calls.replies.map(({ ms }) => ms),
            0.99,
          ),
          repeats: ledger.repeats,
          brokenOff: set.logged('homes.unreachable').map(({ reason }) => reason),
        });
        expect(failed).toEqual([]);
        expect(ledger.violations).toEqual([]);
        expect(ledger.repeats).toBe(0);
      } finally {
        calls.giveUp();
        await router.stop();
      }
    }));

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
      // Their answers lie in connections that nobody reads. Those of the other replica have been heard, and are final.
      for (const answer of answers.values()) answer();
      const results = new Map<string, ExecutionStatus>();
      for (const [name, id] of ids) results.set(name, await eventually(() => other.api.ended(id), 30_000));
      const takenOverMs = Date.now() - frozenMs;
      const again = [...results].filter(([, { attempts }]) => attempts > 1).map(([name]) => name);
      report('one of two frozen', { takenOverMs, taken: again.length });
      expect(again.length).toBeGreaterThan(0);
      expect(again.length).toBeLessThan(names.length);
      for (const { status, attempts, output } of results.values())
        expect({ status, output }).toEqual({ status: 'success', output: { attempt: attempts } });

      frozen.child.kill('SIGCONT');
      // It sees that it is not the home any more, and passes on what it is asked.
      await eventually(async () => expect(frozen.logged('homes.lost').length).toBeGreaterThan(0));
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

/** Who is ready, as somebody sees it who asks now and then. */
class Router {
  ready: readonly Replica[];
  #known: readonly Replica[];
  #isOver = false;
  readonly #looking: Promise<void>;

  constructor(replicas: readonly Replica[]) {
    this.#known = replicas;
    this.ready = replicas;
    this.#looking = this.#look();
  }

  add(replica: Replica): void {
    this.#known = [...this.#known, replica];
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#looking;
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      const known = this.#known;
      const verdicts = await Promise.all(known.map((replica) => replica.isReady()));
      this.ready = known.filter((_, index) => verdicts[index]);
      await pause(50);
    }
  }
}

/** Calls functions at a steady rate and waits for each. Only what may be tried again is: 503 with `Retry-After`. */
class SyncCalls {
  readonly replies: Reply[] = [];
  retried = 0;
  readonly #api: FunctionsClient;
  readonly #open = new Set<Promise<void>>();
  readonly #running: Promise<void>;
  #isOver = false;

  constructor(api: FunctionsClient, perSecond: number) {
    this.#api = api;
    this.#running = this.#run(perSecond);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#open);
  }

  giveUp(): void {
    this.#isOver = true;
  }

  async #run(perSecond: number): Promise<void> {
    const startedMs = performance.now();
    let sent = 0;
    while (!this.#isOver) {
      for (; sent < ((performance.now() - startedMs) / 1_000) * perSecond; sent += 1) {
        const call = this.#call(names[sent % names.length] ?? '', sent);
        this.#open.add(call);
        void call.finally(() => this.#open.delete(call));
      }
      await pause(20);
    }
  }

  async #call(name: string, n: number): Promise<void> {
    for (;;) {
      const reply = await this.#api.invoke(name, { n, workMs: n % 20 });
      if (reply.status !== 503 || reply.retryAfter === undefined || this.#isOver) return void this.replies.push(reply);
      this.retried += 1;
      await pause(Number(reply.retryAfter) * 1_000);
    }
  }
}
