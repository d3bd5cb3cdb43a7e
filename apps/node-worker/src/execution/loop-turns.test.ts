import { describe, expect, it } from 'vitest';
import { LoopTurns } from './loop-turns.js';

/** Turns on a clock that only computing moves. */
function setUp() {
  let nowMs = 0;
  const turns = new LoopTurns(() => nowMs);
  const events: string[] = [];
  const run = async (name: string, ms: number): Promise<void> => {
    const turn = turns.next();
    if (turn) await turn;
    events.push(name);
    nowMs += ms;
    setImmediate(() => events.push(`${name} left`));
  };
  const allBegun = (): Promise<void> =>
    new Promise((resolve) => {
      turns.whenBegun(resolve);
    });
  return { run, events, allBegun };
}

describe('turns of the event loop', () => {
  it('are shared by invocations that take no time', async () => {
    const { run, events } = setUp();
    await Promise.all(['a', 'b', 'c'].map((name) => run(name, 0)));
    expect(events).toEqual(['a', 'b', 'c']);
    await run('d', 0);
    expect(events.at(-1)).toBe('d');
  });

  it('pass between invocations that compute, in order', async () => {
    const { run, events } = setUp();
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => run(name, 6)));
    const before = (event: string): string[] => events.slice(0, events.indexOf(event));
    expect(events.filter((event) => event.length === 1)).toEqual(['a', 'b', 'c', 'd']);
    expect(before('c')).toContain('a left');
    expect(before('d')).toContain('b left');
  });

  it('report that invocations have begun only after those that wait', async () => {
    const { run, events, allBegun } = setUp();
    void run('a', 6);
    void run('b', 6);
    void run('c', 6);
    await allBegun();
    expect(events.filter((event) => event.length === 1)).toEqual(['a', 'b', 'c']);
  });
});
