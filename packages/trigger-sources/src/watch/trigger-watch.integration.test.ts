import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startEmulators, type Emulators } from '@drover/azure-emulators';
import { ServiceBusClient, type ServiceBusMessage } from '@azure/service-bus';
import { EventHubProducerClient } from '@azure/event-hubs';
import { FakeClock } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventHubExtension } from '../event-hubs/event-hub-extension.js';
import { queueExtension } from '../queue/queue-extension.js';
import { AzureQueueAccount } from '../queue/azure-storage-queue.js';
import { serviceBusExtension } from '../service-bus/service-bus-extension.js';
import { storageConnection } from '../storage/storage-connection.js';
import { azuriteConnectionString } from '../testing/azurite.js';
import { WatchBench } from './watch-bench.test.fixture.js';

const never = new AbortController().signal;
const aQueue = { name: 'm', queueName: 'orders', connection: 'Storage' };

let emulators: Emulators;
let bench: WatchBench;
beforeAll(async () => {
  emulators = await startEmulators({ ports: { amqp: 0, queue: 0 } });
});
afterAll(() => emulators.stop());
beforeEach(() => {
  bench = new WatchBench();
});
afterEach(() => bench.watch.close());

const storage = (port = emulators.ports.queue): { readonly Storage: string } => ({
  Storage: azuriteConnectionString(`http://127.0.0.1:${port}`),
});
function queueOf(settings: { readonly Storage: string }, name: string) {
  return new AzureQueueAccount(
    storageConnection({ service: 'queue', functionName: 'f', connection: 'Storage', settings }),
  ).queue(name);
}

async function sendToBus(entity: string, ...messages: ServiceBusMessage[]): Promise<void> {
  const client = new ServiceBusClient(emulators.connectionStrings.serviceBus ?? '');
  try {
    await client.createSender(entity).sendMessages(messages);
  } finally {
    await client.close();
  }
}

async function sendToHub(hub: string, text: string): Promise<void> {
  const client = new EventHubProducerClient(emulators.connectionStrings.eventHubs ?? '', hub);
  try {
    await client.sendBatch([{ body: text }], { partitionId: '1' });
  } finally {
    await client.close();
  }
}

describe('storage queues of our emulator', () => {
  it('tell about a message, also in a queue that was created after the watch began', async () => {
    const settings = storage();
    const { noticed, once } = bench.start(bench.park(queueExtension, settings, { ...aQueue, queueName: 'later' }));
    await bench.connected(1);
    const queue = queueOf(settings, 'later');
    await queue.create(never);
    expect(noticed).toEqual([]);
    await queue.send('x', { keep: 'by-default' }, never);
    expect(await once()).toEqual({ functionName: 'Run', by: 'notification' });
  });

  it('tell about a message that was there before, and about one when it becomes visible', async () => {
    const settings = storage();
    const queue = queueOf(settings, 'before');
    await queue.create(never);
    await queue.send('x', { keep: 'by-default' }, never);
    const parked = bench.park(queueExtension, settings, { ...aQueue, queueName: 'before' });
    expect((await bench.start(parked).once()).by).toBe('notification');
    const [message] = await queue.receive({ count: 1, leaseMs: 1_000 }, never);
    const hidden = bench.start(parked);
    expect(message).toBeDefined();
    expect((await hidden.once()).by).toBe('notification');
    expect(await queue.receive({ count: 1, leaseMs: 1_000 }, never)).toHaveLength(1);
  });

  it('share one connection among all applications', async () => {
    const settings = storage();
    const watches = Array.from({ length: 200 }, (_, index) =>
      bench.start(bench.park(queueExtension, settings, { ...aQueue, queueName: `shared-${index}` })),
    );
    await bench.connected(1);
    const queue = queueOf(settings, 'shared-150');
    await queue.create(never);
    await queue.send('x', { keep: 'by-default' }, never);
    await watches[150]?.once();
    expect(watches.filter(({ noticed }) => noticed.length > 0)).toHaveLength(1);
    expect(bench.observed.filter(({ kind }) => kind === 'watch.endpoint-connected')).toHaveLength(1);
  });

  it('are asked again after the emulator was restarted: what came meanwhile is noticed', async () => {
    const own = await startEmulators({ ports: { queue: 0 } });
    const port = own.ports.queue ?? 0;
    const settings = storage(port);
    const { once, noticed } = bench.start(bench.park(queueExtension, settings, aQueue));
    await bench.connected(1);
    await own.stop();
    expect(noticed).toEqual([]);
    const next = await startEmulators({ ports: { queue: port } });
    try {
      const queue = queueOf(settings, 'orders');
      await queue.create(never);
      await queue.send('x', { keep: 'by-default' }, never);
      await once();
    } finally {
      await next.stop();
    }
  });

  it('wake nothing that is not watched any more', async () => {
    const settings = storage();
    const parked = bench.park(queueExtension, settings, { ...aQueue, queueName: 'ended' });
    const ended = bench.start(parked);
    const kept = bench.start(bench.park(queueExtension, settings, { ...aQueue, queueName: 'kept' }));
    await bench.connected(1);
    ended.end();
    for (const name of ['ended', 'kept']) {
      await queueOf(settings, name).create(never);
      await queueOf(settings, name).send('x', { keep: 'by-default' }, never);
    }
    await kept.once();
    expect(ended.noticed).toEqual([]);
  });
});

describe('an emulator that says nothing for half a minute', () => {
  it('counts as lost, and is connected to again', async () => {
    const clock = new FakeClock(); // the emulator has the real time, so its empty lines are late
    const quiet = new WatchBench(clock);
    quiet.start(quiet.park(queueExtension, storage(), { ...aQueue, queueName: 'quiet' }));
    try {
      await quiet.connected(1);
      await clock.advance(29_000);
      expect(quiet.observed.some(({ kind }) => kind === 'watch.endpoint-lost')).toBe(false);
      await clock.advance(1_500);
      expect(quiet.observed).toContainEqual(expect.objectContaining({ reason: 'it is silent' }));
      await quiet.connected(2);
    } finally {
      await quiet.watch.close();
    }
  });
});

describe('another program at the port of an emulator', () => {
  it('is polled', async () => {
    let peeks = 0;
    const other = createServer((request, response) => {
      if (request.headers.upgrade !== undefined) return void response.writeHead(400).end();
      peeks += 1;
      const head =
        '<QueueMessage><MessageId>1</MessageId><InsertionTime>Mon, 01 Jan 2029 00:00:00 GMT</InsertionTime></QueueMessage>';
      const body = `<QueueMessagesList>${peeks > 1 ? head : ''}</QueueMessagesList>`;
      response.writeHead(200, { 'content-type': 'application/xml' }).end(body);
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = other.address() as AddressInfo; // a TCP port
      const { once } = bench.start(bench.park(queueExtension, storage(port), aQueue));
      expect((await once()).by).toBe('poll');
      expect(peeks).toBe(2);
    } finally {
      other.closeAllConnections();
      other.close();
    }
  });
});

describe('Service Bus of our emulator', () => {
  const settings = () => ({ Bus: emulators.connectionStrings.serviceBus ?? '' });
  const park = (options: object) =>
    bench.park(serviceBusExtension, settings(), { name: 'm', connection: 'Bus', ...options });

  it('tells about messages in a queue, before and after the watch began', async () => {
    await sendToBus('there', { body: 'x' });
    const there = bench.start(park({ queueName: 'there' }));
    const empty = bench.start(park({ queueName: 'Empty' }));
    await there.once();
    expect(empty.noticed).toEqual([]);
    await sendToBus('empty', { body: 'x' });
    expect(await empty.once()).toEqual({ functionName: 'Run', by: 'notification' });
  });

  it('tells about a subscription that did not exist, its dead letters, and sessions', async () => {
    const subscription = bench.start(park({ topicName: 'news', subscriptionName: 'readers' }));
    const sessions = bench.start(park({ queueName: 'chats', isSessionsEnabled: true }));
    const deadLetters = bench.start(park({ queueName: 'old/$DeadLetterQueue' }));
    await bench.connected(1);
    await sendToBus('news', { body: 'x' });
    await subscription.once();
    expect([sessions.noticed, deadLetters.noticed]).toEqual([[], []]);
    await sendToBus('chats', { body: 'x', sessionId: 's' });
    await sessions.once();
    expect(deadLetters.noticed).toEqual([]);
  });

  it('is peeked at where notifications are not offered, and shows messages that no receiver has settled', async () => {
    const parked = park({ queueName: 'peeked' });
    if (parked.kind !== 'source') throw new Error('it is a source');
    const polled = { ...parked, notifications: undefined };
    const { once, noticed } = bench.start(polled);
    await sendToBus('peeked', { body: 'later', scheduledEnqueueTimeUtc: new Date(Date.now() + 3_600_000) });
    expect(noticed).toEqual([]);
    await sendToBus('peeked', { body: 'now' });
    expect((await once()).by).toBe('poll');
  });
});

describe('event hubs of our emulator', () => {
  const settings = () => ({ Hub: emulators.connectionStrings.eventHubs ?? '' });
  const park = (eventHubName: string, options: object = {}) =>
    bench.park(eventHubExtension, settings(), { name: 'e', connection: 'Hub', eventHubName, ...options });

  it('tell about events from the start, when there is no checkpoint', async () => {
    const { once, noticed } = bench.start(park('telemetry'));
    await bench.connected(1);
    expect(noticed).toEqual([]);
    await sendToHub('telemetry', 'x');
    expect(await once()).toEqual({ functionName: 'Run', by: 'notification' });
    // The same answer for a watch that begins now, and over AMQP.
    await bench.start(park('telemetry')).once();
    const parked = park('telemetry');
    if (parked.kind === 'source')
      expect((await bench.start({ ...parked, notifications: undefined }).once()).by).toBe('poll');
  });

  it('tell about events behind the checkpoint only', async () => {
    await sendToHub('read', 'first');
    const authority = /sb:\/\/([^/;]+)/.exec(settings().Hub)?.[1];
    const prefix = `event-hubs/default/app/${authority}/read/$default/checkpoint`;
    await bench.store.write(`${prefix}/1`, JSON.stringify({ sequenceNumber: 0, offset: '0' }), undefined, never);
    const parked = park('read');
    const { once, noticed } = bench.start(parked);
    if (parked.kind !== 'source') throw new Error('it is a source');
    const polled = bench.start({ ...parked, key: 'polled', notifications: undefined });
    await bench.connected(1);
    expect([noticed, polled.noticed]).toEqual([[], []]);
    await sendToHub('read', 'second');
    expect((await once()).by).toBe('notification');
    expect((await polled.once()).by).toBe('poll');
  });

  it('start the listener of a group that begins at the end: its position is not written down yet', async () => {
    const options = { initialOffsetOptions: { type: 'fromEnd' } };
    expect((await bench.start(park('fresh', options)).once()).by).toBe('notification');
  });
});
