import { PostgresEventBus } from '@drover/event-bus';
import { recordChanged } from '@drover/contracts';
import { quietIo } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCollectionTables, testCollection } from '../testing/collection-tables.js';
import { RecordEventPublisher } from './record-event-publisher.js';
import { RecordEventRetention } from './record-event-retention.js';
import type { RecordEventTail } from './record-event-tail.js';
import { openEventBench, writeEvents, type EventBench } from './record-events.test.fixture.js';

const io = { ...quietIo, observe: () => undefined };
const never = new AbortController().signal;
const plain = testCollection({ name: 'plain', fields: [] });
const kept = testCollection({ name: 'kept', fields: [], history: true });

let bench: EventBench;
let tail: RecordEventTail;
beforeAll(async () => {
  bench = await openEventBench();
  tail = await bench.tail();
  for (const collection of [plain, kept]) await createCollectionTables(bench.database, collection);
});
afterAll(() => bench.close());

describe('the publisher of record events', () => {
  it('publishes each change once on the bus, in order, also when it starts again', async () => {
    const bus = new PostgresEventBus({ database: bench.database, ...io });
    await bus.start(never);
    const seen: unknown[] = [];
    await bus.subscribe({ topics: [recordChanged], from: 'now', handle: ({ payload }) => void seen.push(payload) });
    const options = { database: bench.database, bus, tail, ...io };
    const ids = await writeEvents(bench.database, ['a', 'b'], plain.id);
    const one = new RecordEventPublisher(options);
    const two = new RecordEventPublisher(options);
    await one.start();
    await two.start();
    const positions = () => seen.map((payload) => (payload as { position: number }).position);
    await eventually(() => expect(positions()).toEqual(ids));
    expect(seen[0]).toMatchObject({ tenantId: 'acme', collection: 'plain', kind: 'created' });
    await one.stop();
    const later = await writeEvents(bench.database, ['c'], plain.id);
    tail.wrote();
    await eventually(() => expect(positions()).toEqual([...ids, ...later]));
    await two.stop();
    await bus.drain(never);
    await bus.stop();
  });
});

describe('retention of record events', () => {
  it('removes old events but for those of collections with history, and says how far', async () => {
    const old = await writeEvents(bench.database, ['1', '2'], plain.id);
    const history = await writeEvents(bench.database, ['3'], kept.id);
    await bench.database.query(`update drover.record_events set at = now() - interval '2 hours'`);
    const young = await writeEvents(bench.database, ['4'], plain.id);
    await tail.position();
    await eventually(async () => {
      const [state] = await bench.database.query<{ frontier: number }>(
        'select frontier from drover.record_event_state',
      );
      await tail.position();
      return state?.frontier === young[0];
    });
    const retention = new RecordEventRetention({ database: bench.database, retentionMs: 3_600_000, ...io });
    await retention.start();
    const left = async () =>
      (await bench.database.query<{ id: number }>('select id from drover.record_events order by id')).map(
        ({ id }) => id,
      );
    await eventually(async () => expect(await left()).toEqual([...history, ...young]));
    const [state] = await bench.database.query('select trimmed from drover.record_event_state');
    expect(state).toEqual({ trimmed: old[1] });
    await retention.stop();
  });
});
