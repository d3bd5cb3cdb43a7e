import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { CommitLane } from './commit-lane.js';

function trial(linger?: { ms: number; enough: number }) {
  const clock = new FakeClock();
  const written: number[][] = [];
  const lane = new CommitLane<number>({
    name: 'test',
    clock,
    observe: () => undefined,
    write: async (items) => void written.push([...items]),
    maxItems: 100,
    maxStatementBytes: 1_000,
    maxWaitingBytes: 1_000,
    ...(linger && { linger }),
  });
  return { clock, lane, written };
}

describe('CommitLane', () => {
  it('writes a lone item at once, and what came in one turn together', async () => {
    const { lane, written } = trial();
    await Promise.all([lane.add(1, 1), lane.add(2, 1)]);
    await lane.add(3, 1);
    expect(written).toEqual([[1, 2], [3]]);
  });

  it('lets items that nobody waits for gather for a moment', async () => {
    const { clock, lane, written } = trial({ ms: 10, enough: 50 });
    void lane.add(1, 1, false);
    await clock.advance(5);
    void lane.add(2, 1, false);
    expect(written).toEqual([]);
    await clock.advance(5);
    expect(written).toEqual([[1, 2]]);
  });

  it.each([
    ['somebody waits for one of them', (lane: CommitLane<number>) => void lane.add(9, 1)],
    ['there are enough', (lane: CommitLane<number>) => [3, 4, 5].forEach((n) => void lane.add(n, 1, false))],
    ['everything is to end', (lane: CommitLane<number>) => void lane.drain(new AbortController().signal)],
  ])('gathers no longer once %s', async (_, hurry) => {
    const { clock, lane, written } = trial({ ms: 1_000, enough: 4 });
    void lane.add(1, 1, false);
    await clock.advance(1);
    hurry(lane);
    await clock.advance(0);
    expect(written).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  describe('beside a statement that is under way', () => {
    /** Two at a time, the second one when three wait; each ends when told. */
    function busyLane() {
      const written: string[] = [];
      const ends: (() => void)[] = [];
      const lane = new CommitLane<string>({
        name: 'test',
        clock: new FakeClock(),
        observe: () => undefined,
        countOf: ({ length }) => length,
        write: (items) => {
          written.push(items.join(' '));
          return new Promise((resolve) => ends.push(resolve));
        },
        parallel: { most: 2, from: 3 },
        maxItems: 100,
        maxStatementBytes: 1_000,
        maxWaitingBytes: 1_000,
      });
      const add = (...items: readonly string[]): Promise<void>[] => items.map((item) => lane.add(item, item.length));
      const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      return { lane, add, written, ends, turn };
    }

    it('begins a further one once enough wait, and never more than it may', async () => {
      const { add, written, ends, turn } = busyLane();
      const all = add('a');
      await turn();
      all.push(...add('b', 'c'));
      await turn();
      expect(written).toEqual(['a']);
      all.push(...add('d'));
      await turn();
      expect(written).toEqual(['a', 'b c d']);
      all.push(...add('eee', 'f'));
      await turn();
      expect(written).toHaveLength(2);
      ends[1]?.();
      await turn();
      expect(written).toEqual(['a', 'b c d', 'eee f']);
      ends[0]?.();
      ends[2]?.();
      await Promise.all(all);
    });

    it('leaves a few to the last one under way, and is idle after it', async () => {
      const { lane, add, written, ends, turn } = busyLane();
      const all = add('a');
      await turn();
      all.push(...add('bcd'));
      await turn();
      all.push(...add('e'));
      ends[0]?.();
      await turn();
      expect(written).toEqual(['a', 'bcd']);
      let isIdle = false;
      const idle = lane.drain(new AbortController().signal).then(() => (isIdle = true));
      ends[1]?.();
      await turn();
      expect(written).toEqual(['a', 'bcd', 'e']);
      expect(isIdle).toBe(false);
      ends[2]?.();
      await Promise.all([...all, idle]);
    });
  });
});
