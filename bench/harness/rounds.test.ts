import { describe, expect, it } from 'vitest';
import { interleave, measureRounds } from './rounds.js';

const names = ['a', 'b', 'c', 'd', 'e', 'f'];
const quiet = { signal: new AbortController().signal, progress: () => undefined };

describe('rounds', () => {
  it('let every contender run once a round, in another order each round and the same in every run', async () => {
    const measure = async (): Promise<string[]> => {
      const order: string[] = [];
      const contender = (name: string) => ({ name, run: async () => order.push(name) });
      await interleave(names.map(contender), 3, quiet);
      return order;
    };
    const order = await measure();
    const rounds = [0, 6, 12].map((from) => order.slice(from, from + 6));
    for (const round of rounds) expect(round.toSorted()).toEqual(names);
    expect(new Set(rounds.map((round) => round.join(''))).size).toBe(3);
    expect(await measure()).toEqual(order);
  });

  it('give results in the order of the contenders', async () => {
    const contender = (name: string) => ({ name, run: async (round: number) => `${name}${round}` });
    expect(await interleave([contender('a'), contender('b'), contender('c')], 2, quiet)).toEqual([
      ['a0', 'a1'],
      ['b0', 'b1'],
      ['c0', 'c1'],
    ]);
  });

  it('publish their figures after each of them', async () => {
    const published: number[] = [];
    const contenders = [{ name: 'counted', run: async () => 1 }];
    const figures = ([counted = []]: readonly (readonly number[])[]) => [
      { what: 'rounds', value: counted.length, unit: '' },
    ];
    const publish = ([figure]: readonly { readonly value: number }[]) => void published.push(figure?.value ?? 0);
    expect(await measureRounds({ contenders, figures }, 3, { ...quiet, publish })).toMatchObject([{ value: 3 }]);
    expect(published).toEqual([1, 2, 3]);
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
    expect(runs).toHaveLength(1);
  });
});
