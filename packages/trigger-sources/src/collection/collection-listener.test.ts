import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { parseLease } from '../store/lease-record.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { Deliver, Settlement } from '../trigger-source.js';
import type { ParkedSource } from '../parked-trigger.js';
import { SourceWakeups } from '../source-wakeups.js';
import { TriggerWatch, type NoticedWork } from '../watch/trigger-watch.js';
import { parseCheckpoint } from './collection-checkpoint.js';
import { CollectionListener } from './collection-listener.js';
import { collectionTriggerOptions } from './collection-options.js';
import type { ChangeFailure, CollectionRecords, RecordChange, TriggerOfCollection } from '../collection-records.js';
import type { CollectionObservation } from './observations.js';
import { parkedCollection } from './parked-collection.js';

const never = new AbortController().signal;
const key = 'collections/app/react/orders';

/** A collection whose changes a test writes; it may be away. */
class FakeRecords implements CollectionRecords {
  readonly tenantId = 'acme';
  readonly changes: RecordChange[] = [];
  isAway = false;
  #wake: (() => void)[] = [];

  change(recordId: string, kind: RecordChange['kind'] = 'updated'): number {
    const position = (this.changes.at(-1)?.position ?? 0) + 1;
    this.changes.push({ position, kind, recordId, atMs: 0, json: JSON.stringify({ position, recordId }) });
    for (const wake of this.#wake.splice(0)) wake();
    return position;
  }

  position = async (): Promise<number> => {
    if (this.isAway) throw new Error('away');
    return this.changes.at(-1)?.position ?? 0;
  };

  async *follow(_: string, after: number, signal: AbortSignal) {
    let position = after;
    while (!signal.aborted) {
      if (this.isAway) throw new Error('away');
      const changes = this.changes.filter((change) => change.position > position).slice(0, 3);
      position = changes.at(-1)?.position ?? position;
      if (changes.length > 0) yield { changes, upTo: position, isTrimmed: false };
      else await this.#news(signal);
    }
  }

  count = async (_: string, after: number, limit: number) => ({
    changes: this.changes.filter(({ position }) => position > after).slice(0, limit).length,
    oldestAtMs: undefined,
  });
  readonly failed: { readonly change: RecordChange; readonly failure: ChangeFailure; isReplaying: boolean }[] = [];
  cannotStore = false;

  storeFailed = async (_: TriggerOfCollection, changes: readonly RecordChange[], failure: ChangeFailure) => {
    if (this.cannotStore) throw new Error('cannot store');
    for (const change of changes) {
      await this.removeFailed(_, change);
      this.failed.push({ change, failure, isReplaying: false });
    }
  };

  replay(): void {
    for (const one of this.failed) one.isReplaying = true;
    for (const wake of this.#wake.splice(0)) wake();
  }

  async *replays(_: TriggerOfCollection, signal: AbortSignal) {
    while (!signal.aborted) {
      const found = this.failed.flatMap(({ change, isReplaying }) => (isReplaying ? [change] : []));
      if (found.length > 0) yield found;
      else await this.#news(signal);
    }
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#wake.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  countReplays = async () => this.failed.filter(({ isReplaying }) => isReplaying).length;
  removeFailed = async (_: TriggerOfCollection, { position }: RecordChange) => {
    const index = this.failed.findIndex(({ change }) => change.position === position);
    if (index !== -1) this.failed.splice(index, 1);
  };
  get = () => Promise.reject(new Error('not used'));
  list = () => Promise.reject(new Error('not used'));
  write = () => Promise.reject(new Error('not used'));
}

function setUp(binding: Record<string, unknown> = {}, store: TriggerStore = new MemoryTriggerStore()) {
  const clock = new FakeClock();
  const records = new FakeRecords();
  const options = collectionTriggerOptions({ functionName: 'react', binding: { collection: 'orders', ...binding } });
  const seen: CollectionObservation['kind'][] = [];
  let seed = 0;
  const listen = (deliver: Deliver): CollectionListener =>
    new CollectionListener({
      application: 'app',
      functionName: 'react',
      options,
      records,
      store,
      key,
      leaseMs: 60_000,
      deliver,
      clock,
      randomness: seededRandomness((seed += 1)),
      observe: (o) => void seen.push(o.kind as CollectionObservation['kind']),
    });
  const parked = () =>
    parkedCollection({
      application: 'app',
      functionName: 'react',
      options,
      records,
      store,
      key,
      address: 'a',
      randomness: seededRandomness((seed += 1)),
    });
  return { clock, records, store, seen, listen, parked };
}

const complete: Settlement = { kind: 'complete' };
const failed: Settlement = { kind: 'abandon', byFunction: true };

/** Collects deliveries; each is settled when the test says so. */
function deliveries() {
  const open: {
    readonly data: unknown;
    readonly settle: (settlement: Settlement) => void;
    readonly lost: AbortSignal;
  }[] = [];
  const deliver: Deliver = ({ data }, lost) => new Promise((settle) => void open.push({ data, settle, lost }));
  const parse = (data: unknown): number => (JSON.parse(String(data)) as { position: number }).position;
  return { open, deliver, positions: () => open.map(({ data }) => parse(data)) };
}

describe('a listener to a collection', () => {
  it('starts at the end, delivers changes of records side by side, and those of one record in their order', async () => {
    const { clock, records, listen } = setUp();
    records.change('a', 'created');
    const { open, deliver, positions } = deliveries();
    const listener = listen(deliver);
    await listener.start(never);
    await clock.advance(10);
    records.change('a');
    records.change('a');
    records.change('b');
    await clock.advance(10);
    expect(positions()).toEqual([2, 4]);
    open[0]?.settle(complete);
    await clock.advance(10);
    expect(positions()).toEqual([2, 4, 3]);
    await listener.stop();
  });

  it('continues after its checkpoint in another runtime, with all that was not finished', async () => {
    const { clock, records, listen, store } = setUp({ startFrom: 'beginning' });
    records.change('a');
    records.change('b');
    const first = deliveries();
    const one = listen(first.deliver);
    await one.start(never);
    await clock.advance(1_000);
    first.open[0]?.settle(complete);
    await clock.advance(1_000);
    const stopping = one.stop();
    await clock.advance(10_000);
    await stopping;
    expect(first.open[1]?.lost.aborted).toBe(true);
    const second = deliveries();
    const other = listen(second.deliver);
    await other.start(never);
    await clock.advance(1_000);
    expect(second.positions()).toEqual([2]);
    expect(await store.read(key, never)).toBeDefined();
    await other.stop();
  });

  it('delivers a failed change again before the next one of its record, and gives it up after too many', async () => {
    const { clock, records, listen, seen } = setUp({ startFrom: 'beginning', maxDeliveryCount: 2 });
    records.change('a');
    records.change('a');
    const { open, deliver, positions } = deliveries();
    const listener = listen(deliver);
    await listener.start(never);
    await clock.advance(1_000);
    open[0]?.settle(failed);
    await clock.advance(60_000);
    open[1]?.settle(failed);
    await clock.advance(60_000);
    expect(positions()).toEqual([1, 1, 2]);
    expect(seen).toContain('collection.given-up');
    await listener.stop();
  });

  it('never gives a change up because the platform failed', async () => {
    const { clock, records, listen, seen } = setUp({ startFrom: 'beginning', maxDeliveryCount: 1 });
    records.change('a');
    let count = 0;
    const listener = listen(async () =>
      (count += 1) < 8 ? { kind: 'deadLetter', reason: 'it does not load' } : complete,
    );
    await listener.start(never);
    for (let n = 0; n < 100; n += 1) await clock.advance(1_000);
    expect(count).toBe(8);
    expect(seen).not.toContain('collection.given-up');
    await listener.stop();
  });

  it('passes a change that it gives up only when it is stored', async () => {
    const { clock, records, store, listen } = setUp({ startFrom: 'beginning', maxDeliveryCount: 1 });
    records.cannotStore = true;
    records.change('a');
    const listener = listen(async () => failed);
    await listener.start(never);
    for (let n = 0; n < 10; n += 1) await clock.advance(1_000);
    const position = async () =>
      parseCheckpoint(parseLease((await store.read(key, never))?.value ?? '').state)?.position;
    expect([await position(), records.failed.length]).toEqual([0, 0]);
    records.cannotStore = false;
    for (let n = 0; n < 60; n += 1) await clock.advance(1_000);
    expect(await position()).toBe(1);
    expect(records.failed).toMatchObject([{ change: { position: 1 }, failure: { deliveries: 1 } }]);
    await listener.stop();
  });

  it('runs for changes again that it gave up, when asked, and not beside another change of the record', async () => {
    const { clock, records, listen, seen } = setUp({ startFrom: 'beginning', maxDeliveryCount: 1 });
    records.change('a');
    const { open, deliver, positions } = deliveries();
    const listener = listen(deliver);
    await listener.start(never);
    await clock.advance(1_000);
    open[0]?.settle(failed);
    await clock.advance(1_000);
    records.change('a');
    await clock.advance(1_000);
    records.replay();
    expect((await listener.measure(never)).waiting).toBe(1);
    await clock.advance(1_000);
    expect(positions()).toEqual([1, 2]);
    open[1]?.settle(complete);
    await clock.advance(1_000);
    records.change('a');
    await clock.advance(1_000);
    expect(positions()).toEqual([1, 2, 1]);
    open[2]?.settle(failed);
    await clock.advance(1_000);
    expect(positions()).toEqual([1, 2, 1, 3]);
    open[3]?.settle(complete);
    expect(records.failed).toMatchObject([{ isReplaying: false }]);
    records.replay();
    await clock.advance(1_000);
    open[4]?.settle(complete);
    await clock.advance(1_000);
    expect(positions()).toEqual([1, 2, 1, 3, 1]);
    expect(records.failed).toEqual([]);
    expect(seen).toContain('collection.replayed');
    await listener.stop();
  });

  it('delivers only the kinds that were asked for, and batches in one array', async () => {
    const { clock, records, listen } = setUp({
      startFrom: 'beginning',
      events: 'created, deleted',
      cardinality: 'many',
    });
    records.change('a', 'created');
    records.change('a', 'updated');
    records.change('a', 'deleted');
    const got: unknown[] = [];
    const listener = listen(async ({ data }) => (got.push(data), complete));
    await listener.start(never);
    await clock.advance(1_000);
    expect(got).toEqual([[records.changes[0]?.json, records.changes[2]?.json]]);
    await listener.stop();
  });

  it('delivers nothing while it is paused, and as many at a time as workers take', async () => {
    const { clock, records, listen } = setUp({ startFrom: 'beginning', maxConcurrentRecords: 1 });
    for (const id of ['a', 'b', 'c']) records.change(id);
    const { deliver, positions } = deliveries();
    const listener = listen(deliver);
    await listener.start(never);
    listener.pause();
    await clock.advance(1_000);
    expect(positions()).toEqual([]);
    listener.resume();
    await clock.advance(1_000);
    expect(positions()).toEqual([1]);
    listener.scale(2);
    await clock.advance(1_000);
    expect(positions()).toEqual([1, 2]);
    expect(await listener.measure(never)).toMatchObject({ waiting: 1, targetPerWorker: 1 });
    await listener.stop();
  });

  it('reads on after an outage, which it reports once', async () => {
    const { clock, records, listen, seen } = setUp();
    records.isAway = true;
    const { deliver, positions } = deliveries();
    const listener = listen(deliver);
    await listener.start(never);
    for (let n = 0; n < 20; n += 1) await clock.advance(1_000);
    records.isAway = false;
    for (let n = 0; n < 20; n += 1) await clock.advance(1_000);
    records.change('a');
    await clock.advance(1_000);
    expect(positions()).toEqual([1]);
    expect(seen.filter((kind) => kind.endsWith('available'))).toEqual([
      'collection.unavailable',
      'collection.available',
    ]);
    await listener.stop();
  });

  it('finishes what runs when it drains, and stores the checkpoint', async () => {
    const { clock, records, listen, parked } = setUp({ startFrom: 'beginning' });
    records.change('a');
    records.change('a');
    const { open, deliver, positions } = deliveries();
    const listener = listen(deliver);
    await listener.start(never);
    await clock.advance(1_000);
    const drained = listener.drain(never);
    open[0]?.settle(complete);
    await clock.advance(1_000);
    await drained;
    await listener.stop();
    expect(positions()).toEqual([1]);
    const hasWork = () => parked().hasWork({ get: (_, create) => create() }, never);
    expect(await hasWork()).toBe(true);
    const second = listen(async () => complete);
    await second.start(never);
    await clock.advance(5_000);
    const stopping = second.drain(never);
    await clock.advance(5_000);
    await stopping;
    await second.stop();
    expect(await hasWork()).toBe(false);
  });

  it('is woken from zero by the changes after the moment it was parked first', async () => {
    const { clock, records, listen, parked } = setUp();
    records.change('a');
    const source = parked();
    const hasWork = () => source.hasWork({ get: (_, create) => create() }, never);
    expect(await hasWork()).toBe(false);
    records.change('b');
    expect(await hasWork()).toBe(true);
    const { deliver, positions } = deliveries();
    const listener = listen(deliver);
    await listener.start(never);
    await clock.advance(1_000);
    expect(positions()).toEqual([2]);
    await listener.stop();
  });
});

describe('a parked collectionTrigger', () => {
  function watching(clock: FakeClock) {
    const wakeups = new SourceWakeups();
    const watches = new TriggerWatch({ wakeups, clock, randomness: seededRandomness(7), observe: () => undefined });
    const noticed: NoticedWork[] = [];
    const watch = (parked: ParkedSource): void => {
      const triggers = [{ functionName: 'react', parked }];
      watches.watch({ application: 'acme/shop', triggers }, (work) => void noticed.push(work));
    };
    return { watch, noticed, close: () => watches.close() };
  }

  it('is woken by a change of its kinds, without a poll', async () => {
    const { clock, records, parked } = setUp({ events: 'deleted' });
    const { watch, noticed, close } = watching(clock);
    watch(parked());
    await clock.advance(0);
    expect(clock.pending).toBe(0);
    records.change('a', 'updated');
    await clock.advance(0);
    expect(noticed).toEqual([]);
    records.change('a', 'deleted');
    await clock.advance(0);
    expect(noticed).toEqual([{ functionName: 'react', by: 'notification' }]);
    await close();
  });

  it('is woken to run for a change again that it gave up', async () => {
    const { clock, records, parked } = setUp();
    const { watch, noticed, close } = watching(clock);
    const change: RecordChange = { position: 1, kind: 'created', recordId: 'a', atMs: 0, json: '{}' };
    await records.storeFailed({ application: 'app', functionName: 'react', collection: 'orders' }, [change], {
      reason: 'it failed',
      deliveries: 5,
    });
    watch(parked());
    await clock.advance(0);
    expect(noticed).toEqual([]);
    records.replay();
    await clock.advance(0);
    expect(noticed).toEqual([{ functionName: 'react', by: 'notification' }]);
    await close();
  });

  it('is polled while its changes cannot be followed', async () => {
    const { clock, records, parked } = setUp({ startFrom: 'beginning' });
    records.isAway = true;
    const { watch, noticed, close } = watching(clock);
    watch(parked());
    await clock.advance(5_000);
    records.isAway = false;
    records.change('a');
    await clock.advance(1_300);
    expect(noticed).toEqual([{ functionName: 'react', by: 'poll' }]);
    await close();
  });
});

describe('the options of a collectionTrigger', () => {
  it('name all problems', () => {
    const read = () =>
      collectionTriggerOptions({
        functionName: 'react',
        binding: { events: 'made', maxBatchSize: 0, collektion: 'x' },
      });
    expect(read).toThrow(/events must be one or several of created.*\n.*maxBatchSize must be.*\n.*needs a collection/s);
  });
});
