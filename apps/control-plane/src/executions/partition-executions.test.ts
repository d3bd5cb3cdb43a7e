import { describe, expect, it } from 'vitest';
import { PartitionExecutions } from './partition-executions.js';
import type { FunctionLane } from './function-lane.js';
import { EngineTrial, settled } from './testing/engine-trial.js';

/** One that runs and two that wait for it. */
async function busy(): Promise<{ trial: EngineTrial; home: PartitionExecutions; lane: FunctionLane }> {
  const trial = new EngineTrial();
  const { engine, store, clock } = trial;
  const lane = await trial.register('f');
  for (let n = 0; n < 3; n += 1) await trial.enqueue(lane);
  const home = new PartitionExecutions({
    engine,
    store,
    catalog: { peek: () => lane.definition, find: async () => lane.definition, onChange: () => undefined },
    onResult: (accepted, _url, outcome) => trial.results.push({ accepted, outcome }),
    clock,
    observe: () => undefined,
  });
  expect(trial.runs).toHaveLength(1);
  return { trial, home, lane };
}

describe('a home', () => {
  it('that is left finishes what runs, and begins nothing of what waits: the next home does', async () => {
    const { trial, home, lane } = await busy();
    const left = home.releasing([lane.partition], new AbortController().signal);
    await settled();
    await trial.last.end();
    await left;
    expect([trial.runs.length, trial.engine.live.size, lane.waiting, lane.inFlight]).toEqual([1, 0, 0, 0]);
  });

  it('that is lost drops everything at once, and begins nothing more', async () => {
    const { trial, home, lane } = await busy();
    home.lost([lane.partition]);
    expect(trial.last.abandoned).toEqual(['stopping']);
    await settled();
    expect([trial.runs.length, trial.engine.live.size, lane.waiting, lane.inFlight]).toEqual([1, 0, 0, 0]);
  });

  it('that has not yet heard that it is none begins nothing more', async () => {
    const { trial, home, lane } = await busy();
    trial.isOwner = false;
    await trial.last.end();
    expect(trial.runs).toHaveLength(1);
    home.lost([lane.partition]);
    expect([trial.engine.live.size, lane.waiting, lane.inFlight]).toEqual([0, 0, 0]);
  });

  it('that is acquired again goes on with what is unfinished', async () => {
    const { trial, home, lane } = await busy();
    home.lost([lane.partition]);
    await home.acquired([lane.partition]);
    await settled();
    expect(trial.runs).toHaveLength(2);
    for (let n = 0; n < 3; n += 1) await trial.last.end();
    expect([trial.runs.length, trial.engine.live.size]).toEqual([4, 0]);
  });

  it('tells of the end of one whose function is gone, where its call asked for that', async () => {
    const { trial, home, lane } = await busy();
    const callbackUrl = 'https://example.org/';
    await trial.enqueue(lane, { callbackUrl });
    home.lost([lane.partition]);
    lane.definition = { ...lane.definition, generation: lane.generation + 1 };
    await home.acquired([lane.partition]);
    expect(trial.results).toMatchObject([{ accepted: { callbackUrl }, outcome: { status: 'error' } }]);
  });
});
