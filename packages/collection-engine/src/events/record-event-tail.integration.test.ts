import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RecordEventTail } from './record-event-tail.js';
import {
  collect,
  customers,
  gate,
  openEventBench,
  openWrite,
  orders,
  writeEvents,
  type EventBench,
} from './record-events.test.fixture.js';

let bench: EventBench;
let tail: RecordEventTail;
beforeAll(async () => {
  bench = await openEventBench();
  tail = await bench.tail();
});
afterAll(() => bench.close());

const never = new AbortController().signal;
const followOrders = () => collect(tail, { collectionIds: [orders], after: 'now' });

describe('the tail of record events', () => {
  it('yields the events of a collection, in order and with their bodies, and none of others', async () => {
    const seen = followOrders();
    await tail.position();
    await writeEvents(bench.database, ['a', 'b']);
    await writeEvents(bench.database, ['x'], customers);
    await writeEvents(bench.database, ['c']);
    tail.wrote();
    await eventually(() => expect(seen.names()).toEqual(['a', 'b', 'c']));
    expect(seen.events[0]).toMatchObject({
      tenantId: 'acme',
      collectionId: orders,
      kind: 'created',
      before: undefined,
    });
    await seen.stop();
  });

  it('waits for a transaction with a lower id that commits later', async () => {
    const seen = followOrders();
    await tail.position();
    const slow = await openWrite(bench.database, ['first']);
    await writeEvents(bench.database, ['second']);
    await writeEvents(bench.database, ['third']);
    // The tail has taken a horizon by then, and has looked again.
    for (let n = 0; n < 5; n += 1) expect(await tail.position()).toBeLessThan(slow.ids[0] ?? 0);
    expect(seen.names()).toEqual([]);
    await slow.commit();
    await eventually(() => expect(seen.names()).toEqual(['first', 'second', 'third']));
    await seen.stop();
  });

  it('passes the ids of a transaction that was rolled back', async () => {
    const seen = followOrders();
    await tail.position();
    const slow = await openWrite(bench.database, ['never', 'ever']);
    const [last = 0] = await writeEvents(bench.database, ['after']);
    expect(await tail.position()).toBeLessThan(last);
    await slow.rollBack();
    await eventually(() => expect(seen.names()).toEqual(['after']));
    expect(await tail.position()).toBe(last);
    await seen.stop();
  });

  it('tells a position after ids that were rolled back long ago, although it has not read for a while', async () => {
    const other = await bench.tail();
    await other.position();
    const failed = await openWrite(bench.database, ['never']);
    const [last = 0] = await writeEvents(bench.database, ['after']);
    await failed.rollBack();
    expect(await other.position()).toBe(last);
  });

  it('waits for a missing id of a transaction that is younger than all that have ended', async () => {
    await tail.position(); // past what the test before has written
    const seen = followOrders();
    await tail.position();
    // Its transaction id is below that of the slow one, and it commits: the snapshot after it does not know the slow one yet.
    const end = gate();
    const begun = gate();
    const older = bench.database.transaction(async (tx) => {
      await tx.query('select pg_current_xact_id()');
      begun.resolve();
      await end.promise;
      await writeEvents(tx, ['second']);
    });
    await begun.promise;
    const slow = await openWrite(bench.database, ['first']);
    end.resolve();
    await older;
    for (let n = 0; n < 5; n += 1) expect(await tail.position()).toBeLessThan(slow.ids[0] ?? 0);
    await slow.commit();
    await eventually(() => expect(seen.names()).toEqual(['first', 'second']));
    await seen.stop();
  });

  it('does not wait for a transaction that wrote no event', async () => {
    const end = gate();
    const begun = gate();
    const long = bench.database.transaction(async (tx) => {
      await tx.query('select pg_current_xact_id()');
      begun.resolve();
      await end.promise;
    });
    await begun.promise;
    const [id] = await writeEvents(bench.database, ['at once']);
    expect(await tail.position()).toBe(id);
    end.resolve();
    await long;
  });

  it('yields every event once to a consumer that is slower than the writers, and makes no other one wait', async () => {
    const slow = tail.follow({ collectionIds: [orders], after: await tail.position(), signal: never });
    const quick = followOrders();
    await tail.position();
    const first = await writeEvents(bench.database, ['one']);
    const { value } = await slow.next();
    const names = Array.from({ length: 3_000 }, (_, n) => `n${n}`);
    const ids = await writeEvents(bench.database, names);
    tail.wrote();
    await eventually(() => expect(quick.ids()).toEqual([...first, ...ids]));
    const taken = [...(value?.events ?? [])].map(({ id }) => id);
    while (taken.length < ids.length + 1) {
      const next = await slow.next();
      taken.push(...(next.value?.events ?? []).map(({ id }) => id));
    }
    expect(taken).toEqual([...first, ...ids]);
    await Promise.all([slow.return(), quick.stop()]);
  });

  it('resumes after any position, and says if retention removed events before', async () => {
    const ids = await writeEvents(bench.database, ['a', 'b', 'c']);
    await tail.position();
    const resumed = collect(tail, { collectionIds: [orders], after: ids[0] ?? 0 });
    await eventually(() => expect(resumed.ids()).toEqual(ids.slice(1)));
    await resumed.stop();
    await bench.database.query('update drover.record_event_state set trimmed = $1', [ids[1]]);
    const batches = tail.follow({ collectionIds: [orders], after: ids[0] ?? 0, signal: never });
    expect((await batches.next()).value).toMatchObject({ isTrimmed: true, upTo: ids[2] });
    await batches.return();
    await bench.database.query('update drover.record_event_state set trimmed = 0');
  });

  it('tells the position of a collection without events after an idle time', async () => {
    const batches = tail.follow({ collectionIds: [customers], after: 'now', signal: never, idleMs: 10 });
    const reading = batches.next();
    const [id] = await writeEvents(bench.database, ['of another']);
    let { value } = await reading;
    while (value && value.upTo !== id) ({ value } = await batches.next());
    expect(value).toEqual({ events: [], upTo: id, isTrimmed: false });
    await batches.return();
  });

  it('yields all events to a follower that came, and caught up, during a read of the tail', async () => {
    const ended = gate();
    let reads = 0;
    let hold = (): Promise<void> => Promise.resolve();
    const own = await bench.tail({ pollMs: 20, hold: () => hold() });
    const after = await own.position();
    hold = () => ((reads += 1), ended.promise);
    const [first] = await writeEvents(bench.database, ['read by the tail before it has followers']);
    const moved = own.position();
    await eventually(() => expect(reads).toBe(1));
    const abort = new AbortController();
    const batches = own.follow({ collectionIds: [orders], after, signal: abort.signal, idleMs: 5 });
    // Silence: it has read the table and waits for what the tail offers.
    expect((await batches.next()).value).toEqual({ events: [], upTo: after, isTrimmed: false });
    hold = () => Promise.resolve();
    ended.resolve();
    expect(await moved).toBe(first);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { events } of batches) seen.push(...events.map(({ id }) => id));
    })();
    const later = await writeEvents(bench.database, ['b', 'c']);
    own.wrote();
    await eventually(() => expect(seen).toEqual([first, ...later]));
    abort.abort();
    await reading;
  });

  it('continues when its connection was cut', async () => {
    const seen = followOrders();
    await tail.position();
    await bench.database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%record events' and datname = current_database()`,
    );
    const ids = await writeEvents(bench.database, ['after the cut']);
    await eventually(() => expect(seen.ids()).toEqual(ids));
    await seen.stop();
  });

  it('is told by another process, and starts where the frontier was stored', async () => {
    const other = await bench.tail({ pollMs: 600_000 });
    const seen = collect(other, { collectionIds: [orders], after: 'now' });
    await other.position();
    const ids = await writeEvents(bench.database, ['from elsewhere']);
    tail.wrote();
    await eventually(() => expect(seen.ids()).toEqual(ids));
    await other.drain();
    await seen.stop();
  });

  it('loses and repeats nothing while many transactions commit and roll back', async () => {
    const seen = followOrders();
    await tail.position();
    const written: number[] = [];
    const writer = async (seed: number): Promise<void> => {
      for (let n = 0; n < 30; n += 1) {
        const write = await openWrite(bench.database, [`w${seed}-${n}`, `w${seed}-${n}b`]);
        if ((seed + n) % 3 === 0) await write.rollBack();
        else {
          await write.commit();
          written.push(...write.ids);
        }
      }
    };
    await Promise.all([1, 2, 3, 4, 5, 6].map(writer));
    const expected = written.toSorted((a, b) => a - b);
    await eventually(() => expect(seen.ids()).toEqual(expected));
    await seen.stop();
  });
});
