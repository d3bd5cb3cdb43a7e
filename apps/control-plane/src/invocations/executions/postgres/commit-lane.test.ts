import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { CommitLane, type CommitLaneOptions } from './commit-lane.js';

class Refused extends Error {
  readonly code = '22021';
}

/** A lane whose statements end when the test says so. */
function laneWith(options: Partial<CommitLaneOptions<string>> = {}): {
  readonly lane: CommitLane<string>;
  readonly statements: string[][];
  readonly end: (error?: Error) => void;
} {
  const statements: string[][] = [];
  const ends: ((error?: Error) => void)[] = [];
  const lane = new CommitLane<string>({
    name: 'test',
    clock: new FakeClock(),
    observe: () => undefined,
    maxItems: 3,
    maxStatementBytes: 100,
    maxWaitingBytes: 200,
    write: (items) => {
      statements.push([...items]);
      return new Promise((resolve, reject) => {
        ends.push((error) => (error ? reject(error) : resolve()));
      });
    },
    ...options,
  });
  return { lane, statements, end: (error) => ends.shift()?.(error) };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('CommitLane', () => {
  it('writes one at once, and what comes meanwhile together', async () => {
    const { lane, statements, end } = laneWith();
    const first = lane.add('a', 1);
    await settle();
    const others = ['b', 'c', 'd', 'e'].map((item) => lane.add(item, 1));
    await settle();
    expect(statements).toEqual([['a']]);
    end();
    await first;
    await settle();
    expect(statements).toEqual([['a'], ['b', 'c', 'd']]);
    end();
    await settle();
    end();
    await Promise.all(others);
    expect(statements).toEqual([['a'], ['b', 'c', 'd'], ['e']]);
  });

  it('cuts statements by bytes, but takes a single item however large it is', async () => {
    const { lane, statements, end } = laneWith({ maxWaitingBytes: 10_000 });
    const all = [lane.add('huge', 500), lane.add('a', 60), lane.add('b', 60)];
    for (let n = 0; n < 3; n += 1) {
      await settle();
      end();
    }
    await Promise.all(all);
    expect(statements).toEqual([['huge'], ['a'], ['b']]);
  });

  it('refuses what is too much, and takes more when there is room again', async () => {
    const { lane, end } = laneWith();
    const first = lane.add('a', 150);
    await expect(lane.add('b', 60)).rejects.toMatchObject({ code: 'EXECUTION_STORE_FULL', status: 503 });
    await settle();
    end();
    await first;
    const next = lane.add('b', 60);
    await settle();
    end();
    await next;
  });

  it('finds the one that the server refuses, and hands on any other error', async () => {
    const tried: string[][] = [];
    const { lane } = laneWith({
      maxItems: 10,
      write: (items) => {
        tried.push([...items]);
        return items.includes('bad') ? Promise.reject(new Refused()) : Promise.resolve();
      },
    });
    const outcomes = await Promise.allSettled(['a', 'b', 'bad', 'c'].map((item) => lane.add(item, 1)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(tried).toEqual([['a', 'b', 'bad', 'c'], ['a', 'b'], ['bad', 'c'], ['bad'], ['c']]);
    const { lane: other, statements, end } = laneWith();
    const both = Promise.allSettled([other.add('a', 1), other.add('b', 1)]);
    await settle();
    end(new Error('away'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(statements).toHaveLength(1);
  });

  it('tells one that is refused at once, while the others are still being written', async () => {
    let end: () => void = () => undefined;
    const { lane } = laneWith({
      write: (items, refuse) => {
        for (const item of items) if (item === 'lost') refuse(item, new Error('lost'));
        return new Promise((resolve) => {
          end = resolve;
        });
      },
    });
    const [kept, lost] = [lane.add('kept', 1), lane.add('lost', 1)];
    await expect(lost).rejects.toThrow('lost');
    end();
    await kept;
  });

  it('gives up what waits when it is stopped, and waits for what is under way', async () => {
    const { lane, end } = laneWith();
    const first = lane.add('a', 1);
    await settle();
    const waiting = lane.add('b', 1);
    let isStopped = false;
    const stopping = lane.stop().then(() => {
      isStopped = true;
    });
    await expect(waiting).rejects.toMatchObject({ code: 'EXECUTION_STORE_STOPPED' });
    await settle();
    expect(isStopped).toBe(false);
    end();
    await Promise.all([first, stopping]);
    await expect(lane.add('c', 1)).rejects.toMatchObject({ code: 'EXECUTION_STORE_STOPPED' });
  });
});
