import {
  type CheckpointStore,
  EventHubBufferedProducerClient,
  EventHubConsumerClient,
  EventHubProducerClient,
  type EventPosition,
  type PartitionOwnership,
  type ReceivedEventData,
  type SubscribeOptions,
  type Subscription,
  earliestEventPosition,
  latestEventPosition,
} from '@azure/event-hubs';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { AmqpServer } from '../amqp/amqp-server.js';
import { EventHubs, type EventHubsOptions } from './event-hubs.js';
import { EventHubsService } from './event-hubs-service.js';
import { partitionOfKey } from './partition-key.js';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Fails at once instead of after the SDK's 30 s. */
const retryOptions = { maxRetries: 0, timeoutInMs: 5000 };
const quickRetries = { maxRetries: 5, retryDelayInMs: 50, timeoutInMs: 1000 };

interface Emulator {
  readonly server: AmqpServer;
  readonly hubs: EventHubs;
  readonly connectionString: string;
}

async function startEmulator(options: EventHubsOptions = {}, keys?: ReadonlyMap<string, string>): Promise<Emulator> {
  const hubs = new EventHubs(options, undefined);
  const server = new AmqpServer({ services: [new EventHubsService(hubs)], ...(keys && { keys }) });
  const port = await server.start();
  cleanups.push(() => server.stop());
  return { server, hubs, connectionString: connectionString(port, 'any') };
}

function connectionString(port: number, key: string): string {
  return `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=root;SharedAccessKey=${key};UseDevelopmentEmulator=true;`;
}

function producerOf({ connectionString: text }: Emulator, hub = 'hub', options = {}): EventHubProducerClient {
  const producer = new EventHubProducerClient(text, hub, { retryOptions, ...options });
  cleanups.push(() => producer.close());
  return producer;
}

function consumerOf({ connectionString: text }: Emulator, hub = 'hub', options = {}): EventHubConsumerClient {
  const consumer = new EventHubConsumerClient('$Default', text, hub, { retryOptions, ...options });
  cleanups.push(() => consumer.close());
  return consumer;
}

interface Reading {
  readonly events: ReceivedEventData[];
  readonly errors: Error[];
  readonly subscription: Subscription;
}

/** Reads one partition, or all, from a position. */
function read(
  consumer: EventHubConsumerClient,
  startPosition: EventPosition,
  partition?: string,
  options: SubscribeOptions = {},
): Reading {
  const events: ReceivedEventData[] = [];
  const errors: Error[] = [];
  const handlers = {
    processEvents: (received: ReceivedEventData[]) => {
      events.push(...received);
      return Promise.resolve();
    },
    processError: (error: Error) => {
      errors.push(error);
      return Promise.resolve();
    },
  };
  const all = { startPosition, maxWaitTimeInSeconds: 1, ...options };
  const subscription =
    partition === undefined ? consumer.subscribe(handlers, all) : consumer.subscribe(partition, handlers, all);
  cleanups.push(() => subscription.close());
  return { events, errors, subscription };
}

const bodies = (events: readonly ReceivedEventData[]): unknown[] => events.map(({ body }) => body);

async function expectBodies(reading: Reading, expected: readonly unknown[]): Promise<void> {
  await eventually(() => expect(reading.events.length).toBeGreaterThanOrEqual(expected.length));
  expect(bodies(reading.events)).toEqual(expected);
}

describe('hubs', () => {
  it('are made on first use and described with their partitions, empty and not', async () => {
    const emulator = await startEmulator();
    const producer = producerOf(emulator);
    const before = Date.now();
    const hub = await producer.getEventHubProperties();
    expect(hub).toMatchObject({ name: 'hub', partitionIds: ['0', '1', '2', '3'] });
    expect(Math.abs(hub.createdOn.getTime() - before)).toBeLessThan(10_000);
    expect(await producer.getPartitionProperties('0')).toMatchObject({
      eventHubName: 'hub',
      partitionId: '0',
      isEmpty: true,
      beginningSequenceNumber: 0,
      lastEnqueuedSequenceNumber: -1,
    });
    await producer.sendBatch([{ body: 'a' }, { body: 'b' }], { partitionId: '0' });
    const partition = await producer.getPartitionProperties('0');
    expect(partition).toMatchObject({ isEmpty: false, beginningSequenceNumber: 0, lastEnqueuedSequenceNumber: 1 });
    expect(partition.lastEnqueuedOnUtc.getTime()).toBeGreaterThanOrEqual(before - 1000);
    expect(Number(partition.lastEnqueuedOffset)).toBeGreaterThan(0);
  });

  it('from configuration have the declared partitions; others are refused when first use makes none', async () => {
    const hubs = [{ name: 'orders', partitionCount: 2, consumerGroups: ['audit'] }];
    const emulator = await startEmulator({ hubs, createOnFirstUse: false });
    expect(await producerOf(emulator, 'Orders').getPartitionIds()).toEqual(['0', '1']);
    await expect(producerOf(emulator, 'other').sendBatch([{ body: 1 }])).rejects.toMatchObject({
      code: 'MessagingEntityNotFoundError',
    });
    await expect(producerOf(emulator, 'other').getEventHubProperties()).rejects.toMatchObject({
      code: 'MessagingEntityNotFoundError',
    });
    const consumer = new EventHubConsumerClient('unknown', emulator.connectionString, 'orders', { retryOptions });
    cleanups.push(() => consumer.close());
    const reading = read(consumer, earliestEventPosition, '0');
    await eventually(() => expect(reading.errors[0]).toMatchObject({ code: 'MessagingEntityNotFoundError' }));
  });

  it('refuse a partition that does not exist', async () => {
    const emulator = await startEmulator();
    const out = { code: 'ArgumentOutOfRangeError' };
    await expect(producerOf(emulator).sendBatch([{ body: 1 }], { partitionId: '9' })).rejects.toMatchObject(out);
    await expect(producerOf(emulator).getPartitionProperties('9')).rejects.toMatchObject(out);
    const reading = read(consumerOf(emulator), earliestEventPosition, '9');
    await eventually(() => expect(reading.errors[0]).toMatchObject(out));
  });
});

describe('producers', () => {
  it('send to a named partition, by key, and to one partition after the other', async () => {
    const emulator = await startEmulator();
    const producer = producerOf(emulator);
    await producer.sendBatch([{ body: 'named' }], { partitionId: '3' });
    for (const key of ['red', 'green', 'blue']) await producer.sendBatch([{ body: key }], { partitionKey: key });
    for (let i = 0; i < 4; i += 1) await producer.sendBatch([{ body: `round ${i}` }]);
    const reading = read(consumerOf(emulator), earliestEventPosition);
    await eventually(() => expect(reading.events.length).toBe(8));
    const hub = emulator.hubs.find('hub');
    const counts = hub?.partitions.map(({ log }) => log.eventCount) ?? [];
    const expected = [1, 1, 1, 2];
    for (const key of ['red', 'green', 'blue'])
      expected[partitionOfKey(key, 4)] = (expected[partitionOfKey(key, 4)] ?? 0) + 1;
    expect(counts).toEqual(expected);
    const keyed = reading.events.filter(({ partitionKey }) => partitionKey !== undefined && partitionKey !== null);
    expect(keyed.map(({ partitionKey, body }) => `${String(partitionKey)} ${String(body)}`).toSorted()).toEqual([
      'blue blue',
      'green green',
      'red red',
    ]);
  });

  it('keep every property of an event and the type of every value', async () => {
    const emulator = await startEmulator();
    const event = {
      body: { nested: [1, 2, { deep: true }], text: 'ü' },
      contentType: 'application/json',
      correlationId: 'c',
      messageId: 'm',
      properties: { whole: 3, half: 1.5, text: 'x', flag: false },
    };
    await producerOf(emulator).sendBatch([event, { body: Buffer.from([0, 255]) }], { partitionId: '0' });
    const reading = read(consumerOf(emulator), earliestEventPosition, '0');
    await eventually(() => expect(reading.events.length).toBe(2));
    expect(reading.events[0]).toMatchObject(event);
    expect(reading.events[1]?.body).toEqual(Buffer.from([0, 255]));
    expect(reading.events.map(({ sequenceNumber }) => sequenceNumber)).toEqual([0, 1]);
  });

  it('with a buffer reach the partition the service itself chooses for the key', async () => {
    const emulator = await startEmulator();
    const keys = Array.from({ length: 20 }, (_, index) => `device-${index}`);
    const buffered = new EventHubBufferedProducerClient(emulator.connectionString, 'hub', {
      retryOptions,
      onSendEventsErrorHandler: ({ error }) => expect.fail(String(error)),
    });
    for (const key of keys) await buffered.enqueueEvent({ body: key }, { partitionKey: key });
    await buffered.close({ flush: true });
    const producer = producerOf(emulator);
    for (const key of keys) await producer.sendBatch([{ body: `direct ${key}` }], { partitionKey: key });
    const hub = emulator.hubs.find('hub');
    const expected = [0, 0, 0, 0];
    for (const key of keys) expected[partitionOfKey(key, 4)] = (expected[partitionOfKey(key, 4)] ?? 0) + 2;
    expect(hub?.partitions.map(({ log }) => log.eventCount)).toEqual(expected);
  });

  it('with idempotent retries have every event stored once, also when an answer is lost', async () => {
    const emulator = await startEmulator();
    const producer = new EventHubBufferedProducerClient(emulator.connectionString, 'hub', {
      enableIdempotentRetries: true,
      retryOptions: quickRetries,
      maxWaitTimeInMs: 20,
      onSendEventsErrorHandler: ({ error }) => expect.fail(String(error)),
    });
    const send = async (...numbers: readonly number[]): Promise<void> => {
      for (const body of numbers) await producer.enqueueEvent({ body }, { partitionId: '0' });
      await producer.flush();
    };
    await send(1, 2);
    // The batch is stored, then the connection is cut before the answer: the SDK connects and sends it again.
    const { hubs, server } = emulator;
    const publish = hubs.publish.bind(hubs);
    let transfers = 0;
    hubs.publish = (...args) => {
      const result = publish(...args);
      transfers += 1;
      if (transfers === 1) server.dropConnections();
      return result;
    };
    await send(3, 4);
    await send(5);
    await producer.close();
    expect(transfers).toBe(3);
    await expectBodies(read(consumerOf(emulator), earliestEventPosition, '0'), [1, 2, 3, 4, 5]);
  });

  it('are refused at the memory bound, and go on when a hub is purged', async () => {
    const emulator = await startEmulator({ maxBytes: 100_000 });
    const producer = producerOf(emulator);
    const event = { body: 'x'.repeat(30_000) };
    for (let i = 0; i < 3; i += 1) await producer.sendBatch([event], { partitionId: '0' });
    await expect(producer.sendBatch([event], { partitionId: '0' })).rejects.toMatchObject({
      code: 'QuotaExceededError',
      message: expect.stringContaining('Raise the limit'),
    });
    const hub = emulator.hubs.find('hub');
    if (hub) await emulator.hubs.purge(hub);
    await producer.sendBatch([event], { partitionId: '0' });
  });

  it('with a wrong key are refused as unauthorized', async () => {
    const keys = new Map([['root', 'right']]);
    const { server, connectionString: text } = await startEmulator({}, keys);
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(text)?.[1]);
    const emulator = { server, hubs: new EventHubs({}, undefined), connectionString: connectionString(port, 'wrong') };
    await expect(producerOf(emulator).sendBatch([{ body: 1 }])).rejects.toMatchObject({ code: 'UnauthorizedError' });
    await producerOf({ ...emulator, connectionString: connectionString(port, 'right') }).sendBatch([{ body: 1 }]);
  });
});

describe('consumers', () => {
  it('start at every kind of position', async () => {
    const emulator = await startEmulator();
    const producer = producerOf(emulator);
    for (const body of ['a', 'b', 'c']) await producer.sendBatch([{ body }], { partitionId: '0' });
    const consumer = consumerOf(emulator);
    const first = read(consumer, earliestEventPosition, '0');
    await expectBodies(first, ['a', 'b', 'c']);
    const [, b, c] = first.events;
    const expected: [EventPosition, unknown[]][] = [
      [{ sequenceNumber: 1 }, ['c']],
      [{ sequenceNumber: 1, isInclusive: true }, ['b', 'c']],
      [{ offset: b?.offset ?? '' }, ['c']],
      [{ offset: b?.offset ?? '', isInclusive: true }, ['b', 'c']],
      [
        { enqueuedOn: (c?.enqueuedTimeUtc.getTime() ?? 0) - 1 },
        bodies(first.events.filter((e) => e.enqueuedTimeUtc.getTime() >= (c?.enqueuedTimeUtc.getTime() ?? 0))),
      ],
    ];
    await first.subscription.close();
    for (const [position, wanted] of expected) {
      const reading = read(consumer, position, '0');
      await expectBodies(reading, wanted);
      await reading.subscription.close();
    }
    const latest = read(consumer, latestEventPosition, '0');
    await eventually(() => expect(emulator.hubs.find('hub')?.partition('0')?.readers.get('$default')?.size).toBe(1));
    await producer.sendBatch([{ body: 'new' }], { partitionId: '0' });
    await expectBodies(latest, ['new']);
  });

  it('learn the last enqueued event when they ask for it', async () => {
    const emulator = await startEmulator();
    await producerOf(emulator).sendBatch([{ body: 'a' }, { body: 'b' }], { partitionId: '0' });
    const seen: unknown[] = [];
    const subscription = consumerOf(emulator).subscribe(
      '0',
      {
        processEvents: (events, context) => {
          if (events.length > 0) seen.push(context.lastEnqueuedEventProperties);
          return Promise.resolve();
        },
        processError: () => Promise.resolve(),
      },
      { startPosition: earliestEventPosition, trackLastEnqueuedEventProperties: true },
    );
    cleanups.push(() => subscription.close());
    await eventually(() => expect(seen.length).toBeGreaterThan(0));
    expect(seen[0]).toMatchObject({ sequenceNumber: 1 });
    expect(Number((seen[0] as { offset: string }).offset)).toBeGreaterThan(0);
  });

  it('with an owner level take the partition over and keep others out', async () => {
    const emulator = await startEmulator();
    const stolen = { code: 'ReceiverDisconnectedError' };
    const low = read(consumerOf(emulator), earliestEventPosition, '0', { ownerLevel: 1 });
    const reader = (): number | undefined =>
      [...(emulator.hubs.find('hub')?.partition('0')?.readers.get('$default') ?? [])][0]?.ownerLevel;
    await eventually(() => expect(reader()).toBe(1));
    const none = read(consumerOf(emulator), earliestEventPosition, '0');
    await eventually(() => expect(none.errors[0]).toMatchObject(stolen));
    const high = read(consumerOf(emulator), earliestEventPosition, '0', { ownerLevel: 2 });
    await eventually(() => expect(low.errors[0]).toMatchObject(stolen));
    expect(reader()).toBe(2);
    const lower = read(consumerOf(emulator), earliestEventPosition, '0', { ownerLevel: 0 });
    await eventually(() => expect(lower.errors[0]).toMatchObject(stolen));
    await producerOf(emulator).sendBatch([{ body: 'mine' }], { partitionId: '0' });
    await expectBodies(high, ['mine']);
    expect(high.errors).toEqual([]);
  });

  it('go on behind the last event when their connection was cut', async () => {
    const emulator = await startEmulator();
    const producer = producerOf(emulator, 'hub', { retryOptions: quickRetries });
    const reading = read(consumerOf(emulator, 'hub', { retryOptions: quickRetries }), earliestEventPosition, '0');
    for (let i = 0; i < 50; i += 1) await producer.sendBatch([{ body: i }], { partitionId: '0' });
    await eventually(() => expect(reading.events.length).toBeGreaterThan(10));
    emulator.server.dropConnections();
    for (let i = 50; i < 60; i += 1) await producer.sendBatch([{ body: i }], { partitionId: '0' });
    await expectBodies(
      reading,
      Array.from({ length: 60 }, (_, index) => index),
    );
  });

  it('that share a checkpoint store balance the partitions', async () => {
    const emulator = await startEmulator();
    const store = new SharedStore();
    const options = {
      retryOptions: quickRetries,
      loadBalancingOptions: {
        strategy: 'greedy' as const,
        updateIntervalInMs: 300,
        partitionOwnershipExpirationIntervalInMs: 5000,
      },
    };
    const subscribe = (): Reading => {
      const consumer = new EventHubConsumerClient('$Default', emulator.connectionString, 'hub', store, options);
      cleanups.push(() => consumer.close());
      return read(consumer, earliestEventPosition);
    };
    const first = subscribe();
    await eventually(() => expect(store.owners()).toEqual([4]));
    const second = subscribe();
    await eventually(() => expect(store.owners()).toEqual([2, 2]));
    const producer = producerOf(emulator);
    for (let i = 0; i < 8; i += 1) await producer.sendBatch([{ body: i }], { partitionId: String(i % 4) });
    await eventually(() => expect(new Set(bodies([...first.events, ...second.events])).size).toBe(8));
    expect(second.events.length).toBeGreaterThan(0);
  });
});

/** The smallest checkpoint store that two consumers can share. */
class SharedStore implements CheckpointStore {
  readonly #ownerships = new Map<string, PartitionOwnership>();
  #version = 0;

  listOwnership(): Promise<PartitionOwnership[]> {
    return Promise.resolve([...this.#ownerships.values()]);
  }

  claimOwnership(claims: PartitionOwnership[]): Promise<PartitionOwnership[]> {
    const granted = claims.filter(({ partitionId, etag }) => this.#ownerships.get(partitionId)?.etag === etag);
    return Promise.resolve(
      granted.map((claim) => {
        this.#version += 1;
        const owned = { ...claim, etag: String(this.#version), lastModifiedTimeInMs: Date.now() };
        this.#ownerships.set(claim.partitionId, owned);
        return owned;
      }),
    );
  }

  updateCheckpoint(): Promise<void> {
    return Promise.resolve();
  }

  listCheckpoints(): Promise<[]> {
    return Promise.resolve([]);
  }

  /** Partitions per owner. */
  owners(): number[] {
    const counts = new Map<string, number>();
    for (const { ownerId } of this.#ownerships.values())
      if (ownerId) counts.set(ownerId, (counts.get(ownerId) ?? 0) + 1);
    return [...counts.values()].toSorted((a, b) => a - b);
  }
}
