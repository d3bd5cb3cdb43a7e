import { describe, expect, it } from 'vitest';
import { interleave } from './rounds.js';

const quiet = { signal: new AbortController().signal, progress: () => undefined };

describe('rounds', () => {
  it('let every contender run once a round, each round beginning with another one', async () => {
    const order: string[] = [];
    const contender = (name: string) => ({ name, run: async (round: number) => order.push(`${name}${round}`) });
    const results = await interleave([contender('a'), contender('b'), contender('c')], 3, quiet);
    expect(order).toEqual(['a0', 'b0', 'c0', 'b1', 'c1', 'a1', 'c2', 'a2', 'b2']);
    expect(results).toEqual([
      [1, 6, 8],
      [2, 4, 9],
      [3, 5, 7],
    ]);
  });

  it('leave out who does not take part', async () => {
    const first = { name: 'first', takesPartIn: (round: number) => round === 0, run: async () => 'once' };
    expect(await interleave([first, { name: 'always', run: async () => 'each' }], 2, quiet)).toEqual([
      ['once'],
      ['each', 'each'],
    ]);
  });

  it('end before the next contender when they are told to', async () => {
    const stop = new AbortController();
    const runs: string[] = [];
    const contender = (name: string) => ({
      name,
      async run() {
        runs.push(name);
        stop.abort(new Error('enough'));
      },
    });
    const measuring = interleave([contender('a'), contender('b')], 2, { ...quiet, signal: stop.signal });
    await expect(measuring).rejects.toThrow('enough');
    expect(runs).toEqual(['a']);
  });
});
