import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { HeldPartition, PartitionRow, OwnershipTable } from './ownership-table.js';
import type { OwnershipObservation } from './observations.js';
import { OwnedPartitions } from './owned-partitions.js';
import { RecordingListener } from './testing/recording-listener.js';

const me = 'me';

/** The rows of sixteen partitions, in memory. */
class MemoryTable implements Pick<OwnershipTable, 'acquire' | 'release'> {
  readonly rows: { partition: number; holder: string | null; token: number }[] = Array.from(
    { length: 16 },
    (_, partition) => ({ partition, holder: null, token: 0 }),
  );
  away = false;
  statements = 0;

  read(): PartitionRow[] {
    return this.rows.map((row) => ({ ...row }));
  }

  take(partition: number, holder: string | null): void {
    const row = this.rows[partition];
    if (row) Object.assign(row, { holder, token: row.token + 1 });
  }

  async acquire(wanted: readonly HeldPartition[]): Promise<readonly HeldPartition[]> {
    this.#arrive();
    const mine = wanted.filter(({ partition, token }) => this.rows[partition]?.token === token);
    for (const { partition } of mine) this.take(partition, me);
    return mine.map(({ partition, token }) => ({ partition, token: token + 1 }));
  }

  async release(mine: readonly HeldPartition[]): Promise<void> {
    this.#arrive();
    for (const { partition, token } of mine) if (this.rows[partition]?.token === token) this.take(partition, null);
  }

  #arrive(): void {
    this.statements += 1;
    if (this.away) throw new Error('away');
  }
}

interface Trial {
  readonly clock: FakeClock;
  readonly table: MemoryTable;
  readonly listener: RecordingListener;
  readonly own: OwnedPartitions;
  readonly seen: OwnershipObservation[];
  /** One poll after which this replica should own these partitions. */
  readonly want: (...partitions: readonly number[]) => Promise<void>;
}

function trial(): Trial {
  const clock = new FakeClock();
  const table = new MemoryTable();
  const listener = new RecordingListener();
  const seen: OwnershipObservation[] = [];
  const own = new OwnedPartitions({
    listener,
    table,
    timings: { handoverMs: 1_000, forceAfterMs: 100 },
    onChanged: () => undefined,
    onSettled: () => undefined,
    clock,
    randomness: seededRandomness(1),
    observe: (observation) => seen.push(observation),
  });
  return {
    clock,
    table,
    listener,
    own,
    seen,
    async want(...partitions) {
      const isDesired = (partition: number): boolean => partitions.includes(partition);
      own.compare(own.holdings(), table.read(), me);
      own.releaseUnless(isDesired);
      await own.releaseStrays(table.read(), me, (partition) => !isDesired(partition));
      const free = table.read().filter(({ holder }) => holder === null || holder === me);
      await own.acquire(
        free.filter(({ partition }) => isDesired(partition)),
        () => true,
      );
      await clock.advance(0);
    },
  };
}

const never = new AbortController().signal;

describe('OwnedPartitions', () => {
  it('serves a partition once it is recovered, and not before', async () => {
    const { own, listener, want, clock } = trial();
    let recovered = (): void => undefined;
    listener.onAcquired = () => new Promise((resolve) => (recovered = resolve));
    await want(1, 2);
    expect([own.isOwned(1), own.isNotOwned(1), own.tokenOf(1)]).toEqual([false, false, 1]);
    recovered();
    await clock.advance(0);
    expect([own.isOwned(1), own.isOwned(2), own.isOwned(3)]).toEqual([true, true, false]);
  });

  it('tells of a loss once more after a recovery that went on in spite of it', async () => {
    const { own, listener, table, want, clock } = trial();
    let recovered = (): void => undefined;
    listener.onAcquired = () => new Promise((resolve) => (recovered = resolve));
    await want(1, 2);
    table.take(1, 'other');
    own.compare(own.holdings(), table.read(), me);
    recovered();
    await clock.advance(0);
    expect(listener.calls).toEqual(['acquired 1 2', 'lost 1', 'lost 1']);
    expect([own.isOwned(1), own.isOwned(2)]).toEqual([false, true]);
  });

  it('releases each partition by itself, when nothing of it runs any more', async () => {
    const { own, listener, table, want, clock } = trial();
    await want(1, 2);
    const finish = new Map<number, () => void>();
    listener.onReleasing = ([partition = -1]) => new Promise((resolve) => finish.set(partition, resolve));
    await want();
    expect([own.isOwned(1), own.tokenOf(1), table.rows[1]?.holder]).toEqual([false, 1, me]);
    finish.get(2)?.();
    await clock.advance(0);
    expect([table.rows[1]?.holder, table.rows[2]?.holder]).toEqual([me, null]);
    expect([own.tokenOf(1), own.tokenOf(2)]).toEqual([1, undefined]);
  });

  it('takes a partition from a listener whose release is overdue', async () => {
    const { own, listener, table, want, clock } = trial();
    await want(1);
    listener.onReleasing = () => new Promise(() => undefined);
    await want();
    await clock.advance(1_099);
    expect(table.rows[1]?.holder).toBe(me);
    await clock.advance(1);
    expect(table.rows[1]).toMatchObject({ holder: null, token: 2 });
    expect(listener.calls.at(-1)).toBe('lost 1');
    expect(own.isNotOwned(1)).toBe(true);
  });

  it('drops at once what another replica has taken, and acquires it again with a higher token', async () => {
    const { own, listener, table, want } = trial();
    await want(1, 2);
    table.take(1, 'other');
    await want(1, 2);
    expect(listener.calls).toEqual(['acquired 1 2', 'lost 1']);
    expect([own.tokenOf(1), own.tokenOf(2)]).toEqual([undefined, 1]);
    table.take(1, null);
    await want(1, 2);
    expect(own.tokenOf(1)).toBe(4);
  });

  it('ignores rows that were read before it acquired', async () => {
    const { own, table, want } = trial();
    const [before, rows] = [own.holdings(), table.read()];
    await want(1);
    own.compare(before, rows, me);
    expect(own.isOwned(1)).toBe(true);
  });

  it('releases what could not be recovered, and retries later and later', async () => {
    const { own, listener, table, want, clock, seen } = trial();
    listener.onAcquired = () => Promise.reject(new Error('cannot read'));
    await want(5);
    expect(listener.calls).toEqual(['acquired 5', 'lost 5']);
    expect(table.rows[5]).toMatchObject({ holder: null, token: 2 });
    expect(seen.some(({ kind }) => kind === 'ownership.recovery-failed')).toBe(true);
    await want(5);
    expect(listener.calls.length).toBe(2); // too soon
    await clock.advance(250);
    await want(5);
    expect(listener.calls.length).toBe(4);
    await clock.advance(250);
    await want(5);
    expect(listener.calls.length).toBe(4); // it takes longer now
    listener.onAcquired = () => Promise.resolve();
    await clock.advance(500);
    await want(5);
    expect(own.isOwned(5)).toBe(true);
  });

  it('does not acquire a partition while the listener is still busy with it', async () => {
    const { own, listener, want, clock } = trial();
    let recovered = (): void => undefined;
    listener.onAcquired = () => new Promise((resolve) => (recovered = resolve));
    await want(1);
    own.dropAll('not-renewed');
    await want(1);
    await want(1);
    expect(listener.calls).toEqual(['acquired 1', 'lost 1']);
    recovered();
    await clock.advance(0);
    expect(own.isOwned(1)).toBe(false);
    await want(1);
    expect(listener.calls).toEqual(['acquired 1', 'lost 1', 'lost 1', 'acquired 1']);
  });

  it('finds later what it could not release, and an acquisition whose answer was lost', async () => {
    const { own, table, want } = trial();
    await want(1, 2);
    table.away = true;
    await want(1);
    expect(own.tokenOf(2)).toBeUndefined();
    table.away = false;
    expect(table.rows[2]?.holder).toBe(me);
    await want(1);
    expect(table.rows[2]).toMatchObject({ holder: null, token: 2 });
    table.take(3, me);
    await want(1, 3);
    expect(own.tokenOf(3)).toBe(2);
  });

  it('releases everything at the end, what is being recovered included, in few statements', async () => {
    const { own, listener, table, want, clock, seen } = trial();
    await want(1, 2, 3);
    let recovered = (): void => undefined;
    listener.onAcquired = () => new Promise((resolve) => (recovered = resolve));
    await want(1, 2, 3, 4);
    const before = table.statements;
    const left = own.releaseAll(never);
    await clock.advance(0);
    expect(table.statements - before).toBe(1);
    expect(seen.at(-1)).toEqual({ kind: 'ownership.released', partitions: [1, 2, 3], owned: 0 });
    recovered();
    await left;
    expect(table.rows.filter(({ holder }) => holder !== null)).toEqual([]);
    expect(own.holdings()).toEqual([]);
    expect(listener.calls.filter((line) => line.startsWith('releasing')).length).toBe(4);
    expect(clock.pending).toBe(0);
  });

  it('ends the release at the deadline, whatever hangs', async () => {
    const { own, listener, table, want, clock } = trial();
    await want(1);
    listener.onAcquired = () => new Promise(() => undefined);
    await want(1, 2);
    listener.onReleasing = () => new Promise(() => undefined);
    const deadline = new AbortController();
    let done = false;
    const left = own.releaseAll(deadline.signal).then(() => (done = true));
    await clock.advance(5_000);
    expect(done).toBe(false);
    deadline.abort();
    await clock.advance(200);
    await left;
    expect(own.holdings()).toEqual([]);
    expect(table.rows.filter(({ holder }) => holder !== null)).toEqual([]);
    expect(listener.calls.filter((line) => line.startsWith('lost')).toSorted()).toEqual(['lost 1', 'lost 2']);
  });

  it('does not own what the database granted after the lease had ended', async () => {
    const { own, table, listener } = trial();
    own.compare([], table.read(), me);
    await own.acquire(table.read().slice(0, 2), () => false);
    expect(own.holdings()).toEqual([]);
    expect(own.isNotOwned(0)).toBe(true);
    expect(listener.calls).toEqual([]);
  });
});
