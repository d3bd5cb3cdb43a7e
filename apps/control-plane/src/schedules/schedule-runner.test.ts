import { defaultTenantId, type FunctionSchedule } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { EngineTrial, settled } from '../executions/testing/engine-trial.js';
import type { ScheduleObservation } from './observations.js';
import { ScheduleRunner } from './schedule-runner.js';
import type { ScheduledFunction } from './schedule-store.js';

const minuteMs = 60_000;

/** The table of schedules, which outlives the replicas. */
class FakeScheduleStore {
  readonly rows = new Map<string, ScheduledFunction>();
  isAway = false;
  /** Whether records of done runs get lost, as when the process ends right after a call. */
  losesRecords = false;

  async list(): Promise<ScheduledFunction[]> {
    if (this.isAway) throw new Error('the database is away');
    return [...this.rows.values()];
  }

  async advance(scheduled: ScheduledFunction, afterMs: number): Promise<void> {
    if (!this.losesRecords) this.rows.set(scheduled.name, { ...scheduled, afterMs, isStored: true });
  }
}

function open(trial = new EngineTrial(), store = new FakeScheduleStore()) {
  const observed: ScheduleObservation[] = [];
  const replica = { isOwner: true };
  let changed: () => void = () => undefined;
  const runner = new ScheduleRunner({
    store,
    engine: trial.engine,
    catalog: {
      onChange: (listener) => {
        changed = () => listener(defaultTenantId, 'f', { spec: { name: 'f', schedule: {} } } as never);
      },
    },
    fencingTokens: { tokenOf: () => (replica.isOwner ? 1 : undefined) },
    clock: trial.clock,
    observe: (o) => observed.push(o),
  });
  const schedule = async (over: Partial<FunctionSchedule> = {}) => {
    const queue = await trial.register('f', { concurrency: 100, queueSize: 2, timeoutMs: 3_600_000 });
    const { generation } = queue;
    const full = { cron: '* * * * *', input: { n: null }, ...over };
    const afterMs = trial.clock.now();
    store.rows.set('f', { tenantId: defaultTenantId, name: 'f', generation, schedule: full, afterMs, isStored: false });
    changed();
    await advance(0);
    return queue;
  };
  const advance = async (ms: number): Promise<void> => {
    await trial.clock.advance(ms);
    await settled();
    await trial.clock.advance(0);
    await settled();
  };
  return { trial, store, runner, replica, observed, schedule, advance };
}

const timesOf = (trial: EngineTrial): (string | undefined)[] =>
  trial.runs.map(({ attempt }) => attempt.accepted.metadata?.['drover-scheduled-time']);

describe('a schedule', () => {
  it('calls its function at its times, with its input and a key that names the run', async () => {
    const { trial, schedule, advance } = open();
    await schedule();
    expect(trial.runs).toEqual([]);
    const first = Math.ceil((trial.clock.now() + 1) / minuteMs) * minuteMs;
    await advance(first - trial.clock.now());
    await advance(minuteMs);
    const expected = [first, first + minuteMs].map((time) => new Date(time).toISOString());
    expect(timesOf(trial)).toEqual(expected);
    expect(trial.last.attempt.accepted).toMatchObject({
      kind: 'async',
      payload: { json: '{"n":null}' },
      idempotencyKey: `schedule-${expected[1]}`,
    });
  });

  it('is not run by a replica that does not own the function', async () => {
    const { trial, replica, schedule, advance } = open();
    replica.isOwner = false;
    await schedule();
    await advance(3 * minuteMs);
    expect(trial.runs).toEqual([]);
  });

  it('runs once when the record of the run is lost and the next owner takes over', async () => {
    const { trial, store, runner, schedule, advance } = open();
    await schedule();
    store.losesRecords = true;
    await advance(minuteMs);
    expect(trial.runs).toHaveLength(1);
    await runner.stop();
    store.losesRecords = false;
    const next = open(trial, store);
    await next.runner.acquired();
    await next.advance(0);
    expect(trial.runs).toHaveLength(1);
    expect(next.observed).toMatchObject([{ kind: 'schedule.run' }]);
    await next.advance(minuteMs);
    expect(trial.runs).toHaveLength(2);
  });

  it('runs once for what was missed while no replica was up', async () => {
    const { trial, store, runner, schedule, advance } = open();
    await schedule();
    await advance(0);
    await runner.stop();
    await advance(10 * minuteMs);
    const next = open(trial, store);
    await next.runner.acquired();
    await next.advance(0);
    expect(trial.runs).toHaveLength(1);
  });

  it('tries a run that was not accepted again, and says so', async () => {
    const { trial, schedule, advance, observed } = open();
    const queue = await schedule();
    trial.patch(queue, { concurrency: 1 });
    for (let n = 0; n < 3; n += 1) await trial.enqueue(queue);
    await advance(minuteMs);
    expect(observed).toMatchObject([{ kind: 'schedule.refused' }]);
    await trial.runs[0]?.end();
    await advance(5_000);
    expect(observed.at(-1)).toMatchObject({ kind: 'schedule.run' });
  });

  it('is checked again after the database was away', async () => {
    const { trial, store, schedule, advance, observed } = open();
    await schedule();
    store.isAway = true;
    await advance(minuteMs);
    expect(observed).toMatchObject([{ kind: 'schedule.check-failed' }]);
    store.isAway = false;
    await advance(5_000);
    expect(trial.runs).toHaveLength(1);
  });

  it('stops with its replica', async () => {
    const { trial, runner, schedule, advance } = open();
    await schedule();
    await runner.drain();
    await advance(5 * minuteMs);
    expect(trial.runs).toEqual([]);
  });
});
