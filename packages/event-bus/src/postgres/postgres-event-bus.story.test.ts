import { databaseMigrations, type Database } from '@drover/database';
import { createTestDatabase, quietIo } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { EventBus } from '../event-bus.js';
import { bird, birds, eventBusContract, recorder, type EventBusWorld } from '../testing/event-bus-contract.js';
import { eventBusMigrations } from './event-bus-migrations.js';
import { writeToOutbox } from './outbox.js';
import { PostgresEventBus } from './postgres-event-bus.js';
import { Retention } from './retention.js';

const never = new AbortController().signal;

async function openWorld(): Promise<EventBusWorld & { readonly database: Database }> {
  const test = await createTestDatabase([databaseMigrations, eventBusMigrations]);
  const database = await test.connect();
  const opened: EventBus[] = [];
  return {
    database,
    async open() {
      const own = await test.connect({ poolSize: 4 });
      const bus = new PostgresEventBus({
        database: own,
        clock: quietIo.clock,
        randomness: quietIo.randomness,
        observe: () => undefined,
      });
      await bus.start(never);
      opened.push(bus);
      return bus;
    },
    transaction: (work) => database.transaction(work),
    async close() {
      await Promise.all(opened.map((bus) => bus.stop()));
      await test.drop();
    },
  };
}

eventBusContract('PostgreSQL', openWorld);

async function withWorld(use: (world: Awaited<ReturnType<typeof openWorld>>) => Promise<void>): Promise<void> {
  const world = await openWorld();
  try {
    await use(world);
  } finally {
    await world.close();
  }
}

describe('the PostgreSQL event bus', () => {
  it('does not skip a transaction that took its place in the sequence early and commits late', () =>
    withWorld(async ({ database, open }) => {
      const bus = await open();
      const { seen } = await recorder(bus);
      await database.transaction(async (slow) => {
        await bus.publish([bird('slow', 1)], slow);
        await bus.publish([bird('fast', 2)]);
        await eventually(() => expect(seen.map((event) => event.key)).toEqual(['fast']));
      });
      await eventually(() => expect(seen.map((event) => event.key)).toEqual(['fast', 'slow']));
    }));

  it('refuses what PostgreSQL cannot keep, and nothing that others published in the same moment', () =>
    withWorld(async ({ open }) => {
      const bus = await open();
      const { seen } = await recorder(bus);
      const bad = { ...bird('bad', 1), payload: { text: '\u0000' } };
      const published = await Promise.allSettled([
        bus.publish([bird('a', 1)]),
        bus.publish([bird('b', 1), bad]),
        bus.publish([bird('c', 1)]),
      ]);
      expect(published.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      await eventually(() => expect(seen.map((event) => event.key)).toEqual(['a', 'c']));
    }));

  it('delivers what a publisher committed before it died without waking a relay', () =>
    withWorld(async ({ database, open }) => {
      const bus = await open();
      const { seen } = await recorder(bus);
      await writeToOutbox(database, [bird('orphan', 1)]);
      await eventually(() => expect(seen.map((event) => event.key)).toEqual(['orphan']));
    }));

  it('goes on when all its connections are cut, and loses nothing', () =>
    withWorld(async ({ database, open }) => {
      const bus = await open();
      const named = await recorder(bus, { name: 'survivor' });
      const unnamed = await recorder(bus);
      for (let n = 1; n <= 5; n += 1) {
        await database.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        );
        await eventually(() => bus.publish([bird('a', n)]));
      }
      await eventually(() =>
        expect(new Set(named.seen.map((event) => event.generation))).toEqual(new Set([1, 2, 3, 4, 5])),
      );
      await eventually(() =>
        expect(new Set(unnamed.seen.map((event) => event.generation))).toEqual(new Set([1, 2, 3, 4, 5])),
      );
    }));

  it('reads news by the index, also with a plan from the time when there was nothing', () =>
    withWorld(async ({ database, open }) => {
      const bus = await open();
      const { seen } = await recorder(bus);
      // Enough looks for PostgreSQL to settle on one plan, then a log in which reading everything shows.
      for (let n = 1; n <= 20; n += 1) {
        await bus.publish([bird('a', n)]);
        await eventually(() => expect(seen).toHaveLength(n));
      }
      for (let batch = 0; batch < 20; batch += 1) {
        await bus.publish(Array.from({ length: 500 }, (_, n) => bird('flock', batch * 500 + n + 1)));
      }
      await eventually(() => expect(seen).toHaveLength(10_020));
      // A backend tells what it read when it has been idle for a while, at the latest when it ends.
      await bus.stop();
      const read = await eventually(async () => {
        const [row] = await database.query<{ seq_tup_read: number; n_tup_ins: number }>(
          `select seq_tup_read, n_tup_ins from pg_stat_user_tables where schemaname = 'drover' and relname = 'events'`,
        );
        return row?.n_tup_ins === 10_020 && row;
      });
      expect(read).toMatchObject({ seq_tup_read: 0 });
    }));

  it('removes events past the retention time and tells a subscriber that missed them', () =>
    withWorld(async ({ database, open }) => {
      const bus = await open();
      const before = await recorder(bus);
      await bus.publish([bird('a', 1), bird('a', 2)]);
      await eventually(() => expect(before.seen).toHaveLength(2));
      await database.query(`update drover.events set published_at = now() - interval '1 day'`);
      await bus.publish([bird('a', 3)]);
      await eventually(() => expect(before.seen).toHaveLength(3));
      const retention = new Retention({
        database,
        retentionMs: 3_600_000,
        clock: quietIo.clock,
        observe: () => undefined,
      });
      expect(await retention.trim()).toBe(2);
      expect(await retention.trim()).toBe(0);
      const gaps: unknown[] = [];
      const late: number[] = [];
      await bus.subscribe({
        topics: [birds],
        from: 0,
        handle: (event) => void late.push(event.generation),
        onGap: (gap) => void gaps.push(gap),
      });
      await eventually(() => expect(late).toEqual([3]));
      expect(gaps).toEqual([{ after: 0, next: 3 }]);
    }));
});
