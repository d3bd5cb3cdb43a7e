import { FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExecutionStoreObservation } from '../observations.js';
import { openPostgresStores, type PostgresStores } from '../testing/postgres-stores.js';
import { acme, deadLetterAt, acceptedCallAt, outcomeAt } from '../testing/sample-executions.js';
import { readEntries } from './journal-entry.js';

let clock: FakeClock;
let stores: PostgresStores;

beforeEach(async () => {
  clock = new FakeClock();
  stores = await openPostgresStores(clock);
});
afterEach(() => stores.close());

const many = (count: number): ReturnType<typeof acceptedCallAt>[] =>
  Array.from({ length: count }, () => acceptedCallAt(clock.now()));

async function journalEntries(): Promise<number[]> {
  const rows = await stores.database.query<{ entries: string }>(
    'select entries from drover.execution_journal order by token, number',
  );
  return rows.map(({ entries }) => readEntries(entries).length);
}

async function bytes(): Promise<{ stored: number; actual: number }> {
  const [row] = await stores.database.query<{ stored: number; actual: number }>(
    `select (select coalesce(sum(bytes), 0)::float8 from drover.execution_bytes) as stored,
       (select coalesce(sum(coalesce(octet_length(input), 0) + coalesce(octet_length(output), 0)), 0)::float8 from drover.executions) as actual`,
  );
  return row ?? { stored: -1, actual: -2 };
}

describe('maintenance of PostgresExecutionStore', () => {
  it('deletes a journal row with the end of its last execution', async () => {
    const { store } = await stores.open();
    const calls = many(100);
    await store.accept(calls);
    await Promise.all(calls.slice(1).map((accepted) => store.finish(accepted, outcomeAt(clock.now()))));
    expect(await journalEntries()).toEqual([100]);
    await store.finish(calls[0] ?? acceptedCallAt(0), outcomeAt(clock.now()));
    expect(await journalEntries()).toEqual([]);
  });

  it('replaces sparse rows by fuller ones that include recorded retries', async () => {
    const { store } = await stores.open();
    const [first, second, third] = [many(50), many(50), many(50)];
    await store.accept(first);
    await store.accept(second);
    await store.accept(third);
    const [a, b] = [first[7], second[8]];
    if (!a || !b) return expect.unreachable();
    await store.recordRetry(a, [], 1);
    await store.recordRetry(a, [], 2);
    const over = [...first, ...second].filter((accepted) => accepted !== a && accepted !== b);
    await Promise.all(over.map((accepted) => store.finish(accepted, outcomeAt(clock.now()))));
    await store.runMaintenance();
    expect(await journalEntries()).toEqual([50, 50, 50, 1]);
    await clock.advance(60_000);
    await store.runMaintenance();
    await store.runMaintenance();
    expect(await journalEntries()).toEqual([50, 2]);
    const { recovered, store: next } = await stores.takeOver();
    expect(recovered.unfinished).toHaveLength(52);
    expect(recovered.unfinished.filter(({ attempts }) => attempts === 3).map(({ accepted }) => accepted)).toEqual([a]);
    for (const { accepted } of recovered.unfinished) await next.finish(accepted, outcomeAt(clock.now()));
    await next.runMaintenance();
    expect(await journalEntries()).toEqual([]);
  });

  it('keeps an execution in the archive as long as the journal has its entry', async () => {
    const { store } = await stores.open({ ttlMs: 10_000 });
    const [waiting, done] = many(2);
    if (!waiting || !done) return expect.unreachable();
    await store.accept([waiting, done]);
    await store.finish(done, outcomeAt(clock.now()));
    await clock.advance(30_000);
    await store.runMaintenance();
    expect(await store.find(acme, done.executionId)).toBeUndefined();
    expect(await stores.count('executions')).toBe(1);
    const { store: next, recovered } = await stores.takeOver({ ttlMs: 10_000 });
    expect(recovered.unfinished.map(({ accepted }) => accepted)).toEqual([waiting]);
    await next.runMaintenance(); // replaces rows that were recovered half empty at once
    expect(await stores.count('executions')).toBe(0);
    expect((await stores.takeOver()).recovered.unfinished.map(({ accepted }) => accepted)).toEqual([waiting]);
  });

  it('removes thousands of expired executions, of its own partitions only, and observes it', async () => {
    const seen: ExecutionStoreObservation[] = [];
    const observe = (o: { readonly kind: string }): void => {
      if (o.kind === 'executions.swept') seen.push(o as ExecutionStoreObservation);
    };
    const { store, tokens } = await stores.open({ observe });
    const calls = Array.from({ length: 2_500 }, (_, n) => acceptedCallAt(clock.now(), { partition: n % 5 }));
    await Promise.all(calls.map((accepted) => store.finish(accepted, outcomeAt(clock.now()))));
    const dead = acceptedCallAt(clock.now());
    await store.finish(dead, deadLetterAt(clock.now()));
    tokens.delete(4);
    await clock.advance(60_000);
    await store.runMaintenance();
    expect(await stores.count('executions')).toBe(501);
    expect(seen).toEqual([{ kind: 'executions.swept', expired: 2_000, evicted: 0 }]);
    expect(await bytes()).toMatchObject({ stored: (await bytes()).actual });
    expect(await store.find(acme, dead.executionId)).toBeDefined();
  });

  it('evicts the oldest payloads down to the limit, dead letters last, and counts the rest', async () => {
    const { store } = await stores.open({ maxBytes: 100_000 });
    const json = JSON.stringify('x'.repeat(998));
    const dead = acceptedCallAt(clock.now(), { json });
    await store.finish(dead, deadLetterAt(clock.now()));
    for (let round = 0; round < 3; round += 1) {
      const calls = Array.from({ length: 100 }, (_, n) => acceptedCallAt(clock.now(), { json, partition: n % 16 }));
      await Promise.all(calls.map((accepted) => store.finish(accepted, outcomeAt(clock.now(), { json }))));
      await clock.advance(1_000);
      await store.runMaintenance();
      const { stored, actual } = await bytes();
      expect(stored).toBe(actual);
      expect(actual).toBeLessThanOrEqual(100_000);
      expect(actual).toBeGreaterThan(97_000);
    }
    const found = await store.list({ tenantId: acme, limit: 400, oldestFirst: true });
    expect(found.map(({ evicted }) => evicted)).toEqual([
      false, // the dead letter
      ...Array.from({ length: 251 }, () => true),
      ...Array.from({ length: 49 }, () => false),
    ]);
  });

  it('counts again when the stored sum is wrong', async () => {
    const { store } = await stores.open({ maxBytes: 10_000 });
    await store.finish(acceptedCallAt(clock.now()), outcomeAt(clock.now()));
    await stores.database.query('update drover.execution_bytes set bytes = 1000000');
    await store.runMaintenance();
    await store.runMaintenance();
    expect(await bytes()).toEqual({ stored: 0, actual: 0 });
    await store.finish(acceptedCallAt(clock.now()), outcomeAt(clock.now()));
    expect((await bytes()).stored).toBe((await bytes()).actual);
  });

  it('forgets partitions that it lost', async () => {
    const { store, tokens } = await stores.open();
    const [moved, owned] = [acceptedCallAt(clock.now()), acceptedCallAt(clock.now(), { partition: 4 })];
    await store.accept([moved, owned]);
    tokens.delete(3);
    await store.runMaintenance();
    await expect(store.recordRetry(moved, [], 1)).rejects.toMatchObject({ code: 'EXECUTION_HOME_LOST' });
    await store.finish(owned, outcomeAt(clock.now()));
    expect(await journalEntries()).toEqual([1]);
  });
});
