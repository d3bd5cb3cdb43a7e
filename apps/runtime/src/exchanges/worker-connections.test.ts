import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { WorkerConnections, type WorkerTurn } from './worker-connections.js';

/** Connections that are never opened: `idle` stays 0, so that every request is the first one on a connection. */
function bench() {
  const clock = new FakeClock();
  const connections = new WorkerConnections({
    url: new URL('http://127.0.0.1:9'),
    maxConnections: Number.POSITIVE_INFINITY,
    connectTimeoutMs: 1_000,
    clock,
  });
  const turns: { readonly name: string; readonly turn: WorkerTurn }[] = [];
  const enter = (name: string): (() => void) => connections.enter((turn) => turns.push({ name, turn }));
  return { clock, turns, enter, started: () => turns.map(({ name }) => name) };
}

describe('the connections to a worker', () => {
  it('are opened two at a time, and the next when the worker has accepted one, in the order of requests', () => {
    const { turns, enter, started } = bench();
    for (const name of ['a', 'b', 'c', 'd']) enter(name);
    expect(started()).toEqual(['a', 'b']);
    expect(turns[0]?.turn.isFirst).toBe(true);
    turns[0]?.turn.recordHeard(true);
    turns[0]?.turn.recordHeard(true);
    expect(started()).toEqual(['a', 'b', 'c']);
    turns[1]?.turn.end();
    expect(started()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('do not wait for long for a worker that never reports that it has accepted one', async () => {
    const { clock, enter, started } = bench();
    for (const name of ['a', 'b', 'c']) enter(name);
    await clock.advance(49);
    expect(started()).toEqual(['a', 'b']);
    await clock.advance(1);
    expect(started()).toEqual(['a', 'b', 'c']);
  });

  it('wait as long as it takes for one that has reported it before: its event loop is busy', async () => {
    const { clock, turns, enter, started } = bench();
    enter('a');
    turns[0]?.turn.recordHeard(true);
    for (const name of ['b', 'c', 'd']) enter(name);
    await clock.advance(60_000);
    expect(started()).toEqual(['a', 'b', 'c']);
    turns[1]?.turn.recordHeard(true);
    expect(started()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('are not opened for a request that has left the line', () => {
    const { turns, enter, started } = bench();
    enter('a');
    enter('b');
    const leave = enter('c');
    enter('d');
    leave();
    turns[0]?.turn.end();
    expect(started()).toEqual(['a', 'b', 'd']);
  });
});
