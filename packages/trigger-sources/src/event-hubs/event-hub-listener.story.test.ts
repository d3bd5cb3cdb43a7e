import { startEmulators, type Emulators } from '@drover/azure-emulators';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { LockedMessages } from '../locked-messages.js';
import { SourceWakeups } from '../source-wakeups.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import { startAzurite, type Azurite } from '../testing/azurite.js';
import { EventHubBench, type EventHubBenchOptions } from '../testing/event-hub-bench.js';
import { startEventHubVictim } from '../testing/victims.js';
import { triggerListenerContract } from '../testing/trigger-listener-contract.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import { eventHubExtension } from './event-hub-extension.js';
import type { EventHubObservation } from './observations.js';
import type { EventHubListener } from './event-hub-listener.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
let emulator: Emulators;
let azurite: Azurite;
let eventHubs: string;
beforeAll(async () => {
  [emulator, azurite] = await Promise.all([
    startEmulators({ ports: { amqp: 0 } }),
    startAzurite('all', ['--skipApiVersionCheck']),
  ]);
  eventHubs = emulator.connectionStrings.eventHubs ?? '';
});
afterAll(async () => {
  await Promise.all([emulator.stop(), azurite.stop()]);
});

triggerListenerContract('event hub with checkpoints in blobs', async () => {
  const binding = {
    orderBy: 'none',
    partitionConcurrency: 64,
    onFailure: 'deadletter',
    deadLetterHub: `dead-${Date.now()}`,
  };
  const options: EventHubBenchOptions = { eventHubs, storage: azurite.connectionString, binding };
  const bench = new EventHubBench(options);
  return {
    lacks: new Set(['delivery-limit', 'delivery-count', 'exclusive-delivery'] as const),
    maxDeliveries: Number.POSITIVE_INFINITY,
    shortestDelayMs: 20,
    listener: (deliver) => bench.listener(async (delivery, lost) => await deliver(asText(delivery), lost)),
    send: (bodies) => bench.send(bodies),
    putAside: () => readAll(bench, bench.options.deadLetterHub ?? ''),
    remaining: () => bench.remaining(),
    victim: () => startEventHubVictim({ ...options, binding: { ...binding, eventHubName: bench.hub } }),
    close: () => bench.close(),
  };
});

const textsOf = (data: Delivery['data']): string[] =>
  (Array.isArray(data) ? data : [data]).map((body: string | Uint8Array) => Buffer.from(body).toString());

const asText = (delivery: Delivery): Delivery => ({ ...delivery, data: String(delivery.data) });

/** Reads the bodies of all events of a hub. */
async function readAll(bench: EventHubBench, hub: string): Promise<readonly string[]> {
  const client = bench.client(hub);
  const { partitionIds } = await client.describe(never);
  const found: string[] = [];
  for (const partitionId of partitionIds) {
    const { last } = await client.ends(partitionId, never);
    if (last < 0) continue;
    const bodies: string[] = [];
    const reader = await client.read(
      {
        partitionId,
        consumerGroup: '$Default',
        position: { kind: 'start' },
        ownerLevel: 1,
        onEvent: ({ body }) => void bodies.push(Buffer.from(body).toString()),
      },
      never,
    );
    reader.addCredit(last + 1);
    await eventually(() => bodies.length === last + 1);
    reader.close();
    found.push(...bodies);
  }
  await client.close();
  return found;
}

describe('the event hub extension', () => {
  const extensionOf = (observed: EventHubObservation[] = []) =>
    eventHubExtension.create({
      application: 'app',
      settings: { Shop: eventHubs },
      host: { eventHubs: {} },
      cores: 1,
      clock: systemClock,
      randomness: systemRandomness,
      observe: (observation) => void observed.push(observation),
      wakeups: new SourceWakeups(),
      store: new MemoryTriggerStore(),
      lockedMessages: new LockedMessages(),
    });

  it('sends outputs with key and properties to the trigger of another function', async () => {
    const extension = extensionOf();
    const options = { connection: 'Shop', eventHubName: `out-${Date.now()}`, partitionKey: 'k' };
    const binding = { ...options, eventProperties: '{"from":"test"}' };
    const target = extension.target?.({ functionName: 'send', type: 'eventHub', options: binding });
    const own = JSON.stringify({ $message: { body: 'two', partitionKey: 'k2', applicationProperties: { own: 1 } } });
    await target?.send([{ body: 'one' }, { body: own }], never);
    const seen: Delivery[] = [];
    const trigger = {
      functionName: 'receive',
      type: 'eventHubTrigger',
      options: { ...options, partitionKey: undefined },
    };
    const listener = extension.prepare?.(trigger).listen(async (delivery) => {
      seen.push(asText(delivery));
      return complete;
    });
    await listener?.start(never);
    await eventually(() => seen.length === 2);
    await listener?.stop();
    await extension.close?.();
    const found = seen.toSorted((one, other) => String(one.data).localeCompare(String(other.data)));
    expect(found).toMatchObject([
      { data: 'one', metadata: { PartitionKey: 'k', Properties: { from: 'test' } } },
      { data: 'two', metadata: { PartitionKey: 'k2', Properties: { from: 'test', own: 1 } } },
    ]);
  });

  it('refuses an event that is too large, and warns of functions that share a consumer group', async () => {
    const observed: EventHubObservation[] = [];
    const extension = extensionOf(observed);
    const options = { connection: 'Shop', eventHubName: 'large' };
    const target = extension.target?.({ functionName: 'send', type: 'eventHub', options });
    await expect(target?.send([{ body: 'x'.repeat(2_000_000) }], never)).rejects.toMatchObject({
      code: 'EVENT_HUB_EVENT_UNSENDABLE',
    });
    await extension.close?.();
    for (const functionName of ['one', 'two'])
      await extension
        .prepare?.({ functionName, type: 'eventHubTrigger', options })
        .listen(async () => complete)
        .stop();
    expect(observed).toContainEqual({
      kind: 'event-hub.group-shared',
      functionName: 'two',
      other: 'one',
      hub: 'large',
      consumerGroup: '$Default',
    });
  });
});

describe('checkpoints in blobs', () => {
  it('have the layout of the official stores, both ways', async () => {
    const binding = { eventHubName: `Orders-${Date.now()}`, consumerGroup: '$Default' };
    const bench = new EventHubBench({ eventHubs, storage: azurite.connectionString, binding });
    const { BlobServiceClient } = await import('@azure/storage-blob');
    const service = BlobServiceClient.fromConnectionString(azurite.connectionString);
    const container = service.getContainerClient('azure-webjobs-eventhub');
    const prefix = `localhost/${bench.hub.toLowerCase()}/$default`;
    const { store } = bench;
    const first = await store.checkpoint(
      '0',
      { sequenceNumber: 41, offset: '4100', hubCreatedAtMs: 1 },
      undefined,
      never,
    );
    const { metadata } = await container.getBlobClient(`${prefix}/checkpoint/0`).getProperties();
    expect(metadata).toEqual({ sequencenumber: '41', offset: '4100' });
    expect(
      await store.checkpoint('0', { sequenceNumber: 9, offset: '9', hubCreatedAtMs: 1 }, undefined, never),
    ).toBeUndefined();
    expect(
      await store.checkpoint('0', { sequenceNumber: 50, offset: '5000', hubCreatedAtMs: 1 }, first, never),
    ).toBeDefined();
    const claim = { partitionId: '1', ownerId: 'me', ownerLevel: 7 };
    const version = await store.claim(claim, undefined, never);
    expect((await container.getBlobClient(`${prefix}/ownership/1`).getProperties()).metadata).toEqual({
      ownerid: 'me',
    });
    expect(await store.claims(never)).toEqual([{ ...claim, ownerLevel: 0, version }]);
    const azure = container.getBlockBlobClient(`${prefix}/checkpoint/2`);
    await azure.upload('', 0, { metadata: { sequencenumber: '7', offset: '700', clientidentifier: 'host' } });
    expect(await store.checkpoints(never)).toMatchObject([
      { partitionId: '0', sequenceNumber: 50, offset: '5000' },
      { partitionId: '2', sequenceNumber: 7, offset: '700' },
    ]);
    await bench.close();
  });
});

describe('an event hub listener at a real service', () => {
  const benches: EventHubBench[] = [];
  const started: EventHubListener[] = [];
  const open = (
    binding: Readonly<Record<string, unknown>> = {},
    over: Partial<EventHubBenchOptions> = {},
  ): EventHubBench => {
    const bench = new EventHubBench({ eventHubs, binding, ...over });
    benches.push(bench);
    return bench;
  };
  const listen = async (bench: EventHubBench, deliver: Deliver): Promise<EventHubListener> => {
    const listener = bench.listener(deliver);
    started.push(listener);
    await listener.start(never);
    return listener;
  };
  afterEach(async () => {
    await Promise.all(started.splice(0).map((listener) => listener.stop()));
    await Promise.all(benches.splice(0).map((bench) => bench.close()));
  });
  const numbered = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) => String(from + index));

  it('hands over an event with its key, properties and position', async () => {
    const bench = open();
    const body = Buffer.from('{"id":5}');
    await bench.producer.send([{ body, properties: { tries: 2 }, contentType: 'application/json' }], 'k', never);
    const seen: Delivery[] = [];
    await listen(bench, async (delivery) => {
      seen.push(delivery);
      return complete;
    });
    await eventually(() => seen.length === 1);
    const [delivery] = seen;
    expect(delivery?.data).toEqual(body);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(delivery?.metadata).toEqual({
      PartitionContext: {
        FullyQualifiedNamespace: 'localhost',
        EventHubName: bench.hub,
        ConsumerGroup: '$Default',
        PartitionId: expect.stringMatching(/^\d$/),
      },
      PartitionKey: 'k',
      Offset: expect.stringMatching(/^\d+$/),
      SequenceNumber: 0,
      EnqueuedTimeUtc: time,
      Properties: { tries: 2 },
      SystemProperties: {
        'content-type': 'application/json',
        SequenceNumber: 0,
        Offset: expect.stringMatching(/^\d+$/),
        PartitionKey: 'k',
        EnqueuedTimeUtc: time,
      },
    });
  });

  it('hands over batches in order, one at a time, and fills them while one runs', async () => {
    const bench = open({ cardinality: 'many', maxEventBatchSize: 20 });
    await bench.send(numbered(1, 100), 'k');
    const sizes: number[] = [];
    const seen: string[] = [];
    let [running, most] = [0, 0];
    await listen(bench, async ({ data, metadata }) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      sizes.push(data.length);
      expect(metadata['SequenceNumberArray']).toHaveLength(data.length);
      seen.push(...textsOf(data));
      return complete;
    });
    await eventually(() => seen.length === 100);
    expect(seen).toEqual(numbered(1, 100));
    expect(Math.max(...sizes)).toBe(20);
    expect(most).toBe(1);
  });

  it('waits for the smallest batch, but no longer than allowed', async () => {
    const bench = open({ cardinality: 'many', minEventBatchSize: 3, maxWaitTime: '00:00:00.300' });
    const sizes: number[] = [];
    await listen(bench, async ({ data }) => {
      sizes.push(data.length);
      return complete;
    });
    await eventually(() => bench.kinds('event-hub.claimed').length === 4);
    for (const body of ['a', 'b', 'c']) await bench.send([body], 'k');
    await eventually(() => expect(sizes).toEqual([3]));
    await bench.send(['d'], 'k');
    await eventually(() => expect(sizes).toEqual([3, 1]));
  });

  it('keeps the order of each key while batches of one partition run side by side', async () => {
    const bench = open({ orderBy: 'key', partitionConcurrency: 8 });
    const keys = numbered(1, 20);
    await Promise.all(keys.map((key) => bench.send(numbered(1, 10), key)));
    let [running, most] = [0, 0];
    const seen = new Map<unknown, string[]>();
    await listen(bench, async ({ data, metadata }) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 3));
      running -= 1;
      const { PartitionKey: key } = metadata;
      seen.set(key, [...(seen.get(key) ?? []), String(data)]);
      return complete;
    });
    await eventually(async () => (await bench.remaining()) === 0);
    expect(most).toBeGreaterThan(4); // the number of partitions
    expect([...seen.keys()].map(String).toSorted()).toEqual(keys.toSorted());
    for (const list of seen.values()) expect(list).toEqual(numbered(1, 10));
  });

  it('begins at the end of the log, and still skips nothing if it dies before its first checkpoint', async () => {
    const bench = open({ initialOffsetOptions: { type: 'fromEnd' } });
    await bench.send(['old'], 'k');
    const first = await listen(bench, async () => ({ kind: 'abandon' }));
    await eventually(() => bench.kinds('event-hub.claimed').length === 4);
    await first.stop();
    await bench.send(['new'], 'k');
    const seen: string[] = [];
    await listen(bench, async ({ data }) => {
      seen.push(String(data));
      return complete;
    });
    await eventually(() => expect(seen).toEqual(['new']));
  });

  it('begins at a time', async () => {
    const bench = open();
    await bench.send(['old'], 'k');
    await eventually(() => Date.now() % 5 === 0);
    const enqueuedTimeUtc = new Date(Date.now()).toISOString();
    await eventually(() => Date.now() > Date.parse(enqueuedTimeUtc) + 1);
    await bench.send(['new'], 'k');
    const later = open({
      eventHubName: bench.hub,
      initialOffsetOptions: { type: 'fromEnqueuedTime', enqueuedTimeUtc },
    });
    const seen: string[] = [];
    await listen(later, async ({ data }) => {
      seen.push(String(data));
      return complete;
    });
    await eventually(() => expect(seen).toEqual(['new']));
  });

  it('writes a checkpoint every so many batches, and the last one when it stops', async () => {
    const bench = open({ batchCheckpointFrequency: 6 });
    const listener = await listen(bench, async () => complete);
    await bench.send(numbered(1, 10), 'k');
    await eventually(() => bench.kinds('event-hub.completed').length === 10);
    await eventually(() => expect(bench.kinds('event-hub.checkpointed').at(-1)?.sequenceNumber).toBe(5));
    await listener.stop();
    expect(bench.kinds('event-hub.checkpointed').at(-1)?.sequenceNumber).toBe(9);
    expect(await bench.remaining()).toBe(0);
  });

  it('passes over what a function fails on, holds what did not run, and repeats what is held', async () => {
    const advancing = open();
    await advancing.send(['bad', 'good'], 'k');
    const seen: string[] = [];
    await listen(advancing, async ({ data }) => {
      seen.push(String(data));
      if (seen.length === 1) return { kind: 'abandon' }; // its worker was lost
      return String(data) === 'bad' ? { kind: 'abandon', byFunction: true } : complete;
    });
    await eventually(() => expect(seen).toEqual(['bad', 'bad', 'good']));
    expect(advancing.kinds('event-hub.passed-over')).toMatchObject([{ events: 1, deliveryCount: 2 }]);
    const holding = open({ onFailure: 'hold' });
    await holding.send(['stubborn', 'next'], 'k');
    const runs: string[] = [];
    await listen(holding, async ({ data, deliveryCount }) => {
      runs.push(`${String(data)} ${deliveryCount}`);
      return deliveryCount < 3 && String(data) === 'stubborn' ? { kind: 'abandon', byFunction: true } : complete;
    });
    await eventually(() => expect(runs).toEqual(['stubborn 1', 'stubborn 2', 'stubborn 3', 'next 1']));
  });

  it('reads a hub that was deleted and created again from its beginning', async () => {
    const bench = open();
    const { store } = bench;
    await bench.client().describe(never);
    for (const partitionId of ['0', '1', '2', '3'])
      await store.checkpoint(partitionId, { sequenceNumber: 500, offset: '9', hubCreatedAtMs: 1 }, undefined, never);
    await bench.send(['first'], 'k');
    const seen: string[] = [];
    await listen(bench, async ({ data }) => {
      seen.push(String(data));
      return complete;
    });
    await eventually(() => expect(seen).toEqual(['first']));
    expect(bench.kinds('event-hub.recreated')).toHaveLength(4);
    await eventually(async () => (await bench.remaining()) === 0);
  });

  it('measures lag and arrivals, and gives a reason when it cannot', async () => {
    const bench = open();
    await bench.send(numbered(1, 20), 'k');
    const listener = bench.listener(async () => complete);
    started.push(listener);
    expect(await listener.measure(never)).toMatchObject({ waiting: 20 });
    await bench.send(numbered(21, 30), 'k');
    const { arrivalsPerSecond = 0, lagByPartition = {} } = await listener.measure(never);
    expect(arrivalsPerSecond).toBeGreaterThan(0);
    expect(Object.values(lagByPartition).toSorted((one, other) => one - other)).toEqual([0, 0, 0, 30]);
    const nowhere = open({}, { eventHubs: eventHubs.replace(/:\d+;/, ':1;') });
    const blind = nowhere.listener(async () => complete);
    started.push(blind);
    await expect(blind.measure(never)).rejects.toMatchObject({ code: 'EVENT_HUB_UNAVAILABLE' });
  });
});
