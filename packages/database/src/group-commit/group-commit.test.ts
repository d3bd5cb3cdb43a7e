import { FakeClock } from '@drover/testkit';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { GroupCommit, type GroupCommitOptions } from './group-commit.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = new AbortController().signal;

/** Items are strings that count as many rows and bytes as they have characters. */
function setUp(options: Partial<GroupCommitOptions<string>> = {}) {
  const clock = new FakeClock();
  const written: string[] = [];
  const rows: number[] = [];
  const commits = new GroupCommit<string>({
    name: 'test',
    clock,
    observe: (o) => {
      if (o.kind === 'database.rows-committed') rows.push(o.rows);
    },
    countOf: ({ length }) => length,
    bytesOf: ({ length }) => length,
    write: async (items) => void written.push(items.join(' ')),
    ...options,
  });
  const add = (...items: readonly string[]): Promise<void>[] => items.map((item) => commits.add(item));
  return { clock, commits, add, written, rows };
}

/** As `setUp`, but a statement ends when the test ends it. */
function setUpPending(options: Partial<GroupCommitOptions<string>> = {}) {
  const written: string[] = [];
  const statements: { readonly succeed: () => void; readonly fail: (error: Error) => void }[] = [];
  const parts = setUp({
    write: (items) => {
      written.push(items.join(' '));
      return new Promise<void>((succeed, fail) => statements.push({ succeed, fail }));
    },
    ...options,
  });
  return { ...parts, written, statements };
}

function refusal(code: string): Error {
  return Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code });
}

describe('GroupCommit', () => {
  it('writes a single item at once, and the items of one tick together', async () => {
    const { add, written, rows } = setUp();
    await Promise.all(add('aa', 'b'));
    await Promise.all(add('c'));
    expect(written).toEqual(['aa b', 'c']);
    expect(rows).toEqual([3, 1]);
  });

  it('writes items in the order in which they were added', async () => {
    const { add, written, statements } = setUpPending({ maxItems: 2 });
    const all = add('a');
    await nextTurn();
    all.push(...add('b', 'c', 'd', 'e'));
    for (let statement = 0; statement < 3; statement += 1) {
      await nextTurn();
      statements[statement]?.succeed();
    }
    await Promise.all(all);
    expect(written).toEqual(['a', 'b c', 'd e']);
  });

  it('gives each caller the result of its own item, and rejects all when results are missing', async () => {
    const clock = new FakeClock();
    const commits = new GroupCommit<number, number>({
      name: 'test',
      clock,
      observe: () => undefined,
      write: async (items) => items.filter((item) => item > 0).map((item) => item * 10),
    });
    expect(await Promise.all([1, 2, 3].map((item) => commits.add(item)))).toEqual([10, 20, 30]);
    const outcomes = await Promise.allSettled([4, 0].map((item) => commits.add(item)));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  describe('limits', () => {
    it('puts no more items and bytes into a statement than allowed, but always one item', async () => {
      const { add, written } = setUp({ maxItems: 3, maxBytes: 5 });
      await Promise.all(add('a', 'b', 'c', 'd', 'eee', 'ff', 'much too long', 'g'));
      expect(written).toEqual(['a b c', 'd eee', 'ff', 'much too long', 'g']);
    });

    it('rejects items beyond the waiting items, and accepts them again once there is room', async () => {
      const { add, statements } = setUpPending({ maxWaitingItems: 2 });
      const first = add('a');
      await nextTurn();
      const [b, c, d] = add('b', 'c', 'd');
      await expect(d).rejects.toMatchObject({ code: 'DATABASE_INGEST_FULL', details: { capacity: 2, unit: 'rows' } });
      statements[0]?.succeed();
      await Promise.all(first);
      await nextTurn();
      const later = add('e');
      statements[1]?.succeed();
      await Promise.all([b, c]);
      await nextTurn();
      statements[2]?.succeed();
      await Promise.all(later);
    });

    it('counts bytes until they are written, and accepts a single item of any size', async () => {
      const { add, statements } = setUpPending({ maxWaitingBytes: 5 });
      const large = add('much too long');
      await nextTurn();
      const [refused] = add('a');
      await expect(refused).rejects.toMatchObject({
        code: 'DATABASE_INGEST_FULL',
        details: { capacity: 5, unit: 'bytes' },
      });
      statements[0]?.fail(new Error('connection lost'));
      await expect(large[0]).rejects.toThrow('connection lost');
      const next = add('abcde');
      await nextTurn();
      statements[1]?.succeed();
      await Promise.all(next);
    });

    it('rejects with the error that its owner chose', async () => {
      const { add } = setUpPending({
        maxWaitingBytes: 3,
        full: ({ heldBytes, waitingItems }) => new Error(`${heldBytes} bytes, ${waitingItems} items`),
      });
      const [first, second] = add('abc', 'd');
      await expect(second).rejects.toThrow('3 bytes, 1 items');
      void first;
    });
  });

  describe('failures', () => {
    it('rejects the whole batch when the outcome is unknown, and writes the next one', async () => {
      const { add, written, statements } = setUpPending();
      const lost = Promise.allSettled(add('a', 'b'));
      await nextTurn();
      const next = add('c');
      statements[0]?.fail(new Error('connection lost'));
      expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      await nextTurn();
      statements[1]?.succeed();
      await Promise.all(next);
      expect(written).toEqual(['a b', 'c']);
    });

    it.each(['22P05', '23505', '42703', '54000', 'P0001'])(
      'splits a batch that the server refused with %s, in order, until the bad item is alone',
      async (code) => {
        const tried: string[] = [];
        const { add, rows } = setUp({
          write: async (items) => {
            tried.push(items.join(' '));
            if (items.includes('bad')) throw refusal(code);
          },
        });
        const outcomes = await Promise.allSettled(add('a', 'bad', 'c', 'd'));
        expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
        expect(tried).toEqual(['a bad c d', 'a bad', 'a', 'bad', 'c d']);
        expect(rows).toEqual([1, 2]);
      },
    );

    it('does not split a batch that failed for another reason', async () => {
      const tried: string[] = [];
      const { add } = setUp({
        write: async (items) => {
          tried.push(items.join(' '));
          throw refusal('40001');
        },
      });
      await Promise.allSettled(add('a', 'b'));
      expect(tried).toEqual(['a b']);
    });

    it('rejects an item that the writer takes out of the batch, and no other', async () => {
      const { add } = setUp({
        write: async (items, reject) => {
          for (const item of items) if (item === 'b') reject(item, new Error('not ours'));
        },
      });
      const outcomes = await Promise.allSettled(add('a', 'b', 'c'));
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    });
  });

  describe('items that are not urgent', () => {
    it('wait for others for a short time', async () => {
      const { clock, commits, written } = setUp({ linger: { ms: 10, items: 50 } });
      void commits.add('a', false);
      await clock.advance(5);
      void commits.add('b', false);
      expect(written).toEqual([]);
      await clock.advance(5);
      expect(written).toEqual(['a b']);
    });

    it.each([
      ['an urgent item is added', (commits: GroupCommit<string>) => void commits.add('z')],
      [
        'there are enough',
        (commits: GroupCommit<string>) => ['b', 'c', 'd'].forEach((n) => void commits.add(n, false)),
      ],
      ['it drains', (commits: GroupCommit<string>) => void commits.drain(never)],
      ['it stops', (commits: GroupCommit<string>) => void commits.stop()],
    ])('are written at once when %s', async (_, trigger) => {
      const { clock, commits, written } = setUp({ linger: { ms: 1_000, items: 4 } });
      void commits.add('a', false);
      await clock.advance(1);
      trigger(commits);
      await clock.advance(0);
      expect(written).toHaveLength(1);
      expect(clock.pending).toBe(0);
    });
  });

  describe('beside a statement that is under way', () => {
    const concurrent = { maxConcurrent: 2, concurrentFrom: 3 };

    it('starts another one once enough rows wait, and never more than allowed', async () => {
      const { add, written, statements } = setUpPending(concurrent);
      const all = add('a');
      await nextTurn();
      all.push(...add('b', 'c'));
      await nextTurn();
      expect(written).toEqual(['a']);
      all.push(...add('d'));
      await nextTurn();
      expect(written).toEqual(['a', 'b c d']);
      all.push(...add('eee', 'f'));
      await nextTurn();
      expect(written).toHaveLength(2);
      statements[1]?.succeed();
      await nextTurn();
      expect(written).toEqual(['a', 'b c d', 'eee f']);
      statements[0]?.succeed();
      statements[2]?.succeed();
      await Promise.all(all);
    });

    it('starts another one at once for what does not fit into the first', async () => {
      const { add, written, statements } = setUpPending({ ...concurrent, maxItems: 2 });
      const all = add('a', 'b', 'c', 'd', 'e');
      await nextTurn();
      expect(written).toEqual(['a b', 'c d']);
      for (const { succeed } of statements) succeed();
      await nextTurn();
      statements[2]?.succeed();
      await Promise.all(all);
    });

    it('leaves a few rows to the last statement under way, and is idle after it', async () => {
      const { commits, add, written, statements } = setUpPending(concurrent);
      const all = add('a');
      await nextTurn();
      all.push(...add('bcd'));
      await nextTurn();
      all.push(...add('e'));
      statements[0]?.succeed();
      await nextTurn();
      expect(written).toEqual(['a', 'bcd']);
      let isIdle = false;
      const idle = commits.drain(never).then(() => (isIdle = true));
      statements[1]?.succeed();
      await nextTurn();
      expect(written).toEqual(['a', 'bcd', 'e']);
      expect(isIdle).toBe(false);
      statements[2]?.succeed();
      await Promise.all([...all, idle]);
    });
  });

  describe('stop', () => {
    it('writes what waits, unless its owner chose an error for it', async () => {
      const { commits, add, written, statements } = setUpPending();
      const all = add('a');
      await nextTurn();
      all.push(...add('b'));
      const stopped = commits.stop();
      statements[0]?.succeed();
      await nextTurn();
      statements[1]?.succeed();
      await Promise.all([...all, stopped]);
      expect(written).toEqual(['a', 'b']);
    });

    it('rejects what waits and what comes later, and waits for the statement under way', async () => {
      const { commits, add, written, statements } = setUpPending({ stopped: () => new Error('stopped') });
      const all = add('a');
      await nextTurn();
      const [waiting] = add('b');
      let isStopped = false;
      const stopped = commits.stop().then(() => (isStopped = true));
      await expect(waiting).rejects.toThrow('stopped');
      await expect(commits.add('c')).rejects.toThrow('stopped');
      expect(isStopped).toBe(false);
      statements[0]?.succeed();
      await Promise.all([...all, stopped]);
      expect(written).toEqual(['a']);
    });
  });
});
