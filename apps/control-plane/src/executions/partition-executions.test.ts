import { describe, expect, it } from 'vitest';
import { PartitionExecutions } from './partition-executions.js';
import type { FunctionQueue } from './function-queue.js';
import { EngineTrial, settled } from './testing/engine-trial.js';

/** One that runs and two that wait for it. */
async function busy(): Promise<{ trial: EngineTrial; home: PartitionExecutions; queue: FunctionQueue }> {
  const trial = new EngineTrial();
  const { engine, store, clock } = trial;
  const queue = await trial.register('f');
  for (let n = 0; n < 3; n += 1) await trial.enqueue(queue);
  const home = new PartitionExecutions({
    engine,
    store,
    catalog: { peek: () => queue.definition, find: async () => queue.definition, onChange: () => undefined },
    onResult: (accepted, _url, outcome) => trial.results.push({ accepted, outcome }),
    clock,
    observe: () => undefined,
  });
  expect(trial.runs).toHaveLength(1);
  return { trial, home, queue };
}

describe('a home', () => {
  it('that is left finishes what runs, and begins nothing of what waits: the next home does', async () => {
    const { trial, home, queue } = await busy();
    const left = home.releasing([queue.partition], new AbortController().signal);
    await settled();
    await trial.last.end();
    await left;
    expect([trial.runs.length, trial.engine.live.size, queue.waiting, queue.inFlight]).toEqual([1, 0, 0, 0]);
  });

  it('that is lost drops everything at once, and begins nothing more', async () => {
    const { trial, home, queue } = await busy();
    home.lost([queue.partition]);
    expect(trial.last.abandoned).toEqual(['stopping']);
    await settled();
    expect([trial.runs.length, trial.engine.live.size, queue.waiting, queue.inFlight]).toEqual([1, 0, 0, 0]);
  });

  it('that has not yet heard that it is none begins nothing more', async () => {
    const { trial, home, queue } = await busy();
    trial.isOwner = false;
    await trial.last.end();
    expect(trial.runs).toHaveLength(1);
    home.lost([queue.partition]);
    expect([trial.engine.live.size, queue.waiting, queue.inFlight]).toEqual([0, 0, 0]);
  });

  it('that is acquired again goes on with what is unfinished', async () => {
    const { trial, home, queue } = await busy();
    home.lost([queue.partition]);
    await home.acquired([queue.partition]);
    await settled();
    expect(trial.runs).toHaveLength(2);
    for (let n = 0; n < 3; n += 1) await trial.last.end();
    expect([trial.runs.length, trial.engine.live.size]).toEqual([4, 0]);
  });

  it('tells of the end of one whose function is gone, where its call asked for that', async () => {
    const { trial, home, queue } = await busy();
    const callbackUrl = 'https://example.org/';
    await trial.enqueue(queue, { callbackUrl });
    home.lost([queue.partition]);
    queue.definition = { ...queue.definition, generation: queue.generation + 1 };
    await home.acquired([queue.partition]);
    expect(trial.results).toMatchObject([{ accepted: { callbackUrl }, outcome: { status: 'error' } }]);
  });
});
