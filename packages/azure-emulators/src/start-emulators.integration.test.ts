import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { ServiceBusClient } from '@azure/service-bus';
import { EventHubProducerClient } from '@azure/event-hubs';
import { QueueServiceClient } from '@azure/storage-queue';
import rhea from 'rhea';
import { describe, expect, it } from 'vitest';
import { startAzuriteProcess } from './azurite/azurite-process.js';
import type { Emulators, EmulatorsOptions } from './emulators.js';
import type { PortInUseError } from './ports/port-in-use.js';
import { startEmulators } from './start-emulators.js';

async function withEmulators(options: EmulatorsOptions, use: (emulators: Emulators) => Promise<void>): Promise<void> {
  const emulators = await startEmulators(options);
  try {
    await use(emulators);
  } finally {
    await emulators.stop();
    await emulators.stop(); // twice is safe
  }
}

const noEntities = { queues: [], topics: [], eventHubs: [], storageQueues: [] };

describe('startEmulators', () => {
  it('starts the services that have a port, with the entities that are declared then or later', () =>
    withEmulators(
      { ports: { queue: 0 }, entities: { ...noEntities, storageQueues: ['orders'] } },
      async (emulators) => {
        expect(Object.keys(emulators.ports)).toEqual(['queue']);
        await emulators.declare({ ...noEntities, storageQueues: ['orders', 'parcels'] });
        expect(emulators.status().map(({ name }) => name)).toEqual(['orders', 'parcels']);
        const client = QueueServiceClient.fromConnectionString(emulators.connectionStrings.storage ?? '');
        await client.getQueueClient('orders').sendMessage('hello');
        expect(emulators.status()).toContainEqual(expect.objectContaining({ name: 'orders', depth: 1 }));
      },
    ));

  it('answers the health check of Microsoft, and TLS with the certificate in its data directory', () =>
    withScratchDirectory((dataDirectory) =>
      withEmulators({ ports: { amqp: 0 }, dataDirectory }, async ({ ports, certificate = '' }) => {
        const health = await fetch(`http://localhost:${ports.amqp}/health`);
        expect([health.status, await health.json()]).toEqual([
          200,
          { status: 'healthy', message: 'Service is healthy.' },
        ]);
        expect(await readFile(path.join(dataDirectory, 'amqp', 'certificate.pem'), 'utf8')).toBe(certificate);
        const target = { port: ports.amqp ?? 0, host: 'localhost', username: 'any', reconnect: false } as const;
        const tls = { transport: 'tls', ca: certificate, servername: 'localhost' } as const;
        const connection = rhea.create_container().connect({ ...target, ...tls });
        await once(connection.open_sender('orders'), 'sendable');
        connection.close();
        await once(connection, 'connection_close');
      }),
    ));

  it('listens on further ports, and starts on none if one is in use', () =>
    withEmulators({ ports: { amqp: 0 } }, async ({ ports }) => {
      const used = ports.amqp ?? 0;
      const second = startEmulators({ ports: { amqp: 0 }, moreAmqpPorts: [0, used] });
      await expect(second).rejects.toMatchObject({ code: 'EMULATOR_PORT_IN_USE', port: used, isEmulator: true });
    }));

  it('refuses names that are not declared if first use makes none', () =>
    withEmulators(
      { ports: { amqp: 0 }, createOnFirstUse: false, entities: { ...noEntities, queues: [{ name: 'orders' }] } },
      async ({ connectionStrings }) => {
        const options = { retryOptions: { maxRetries: 0 } };
        const client = new ServiceBusClient(connectionStrings.serviceBus ?? '', options);
        await client.createSender('orders').sendMessages({ body: 'known' });
        const unknown = client.createSender('parcels').sendMessages({ body: 'unknown' });
        await expect(unknown).rejects.toMatchObject({ code: 'MessagingEntityNotFound' });
        await client.close();
      },
    ));

  it('refuses messages beyond its bound of memory, in every service', () =>
    withEmulators({ ports: { queue: 0, amqp: 0 }, maxBytes: 50_000 }, async ({ connectionStrings }) => {
      const { storage = '', serviceBus = '', eventHubs = '' } = connectionStrings;
      const body = 'x'.repeat(60_000);
      const queues = QueueServiceClient.fromConnectionString(storage);
      await queues.createQueue('orders');
      await expect(queues.getQueueClient('orders').sendMessage(body)).rejects.toMatchObject({ statusCode: 507 });
      const retryOptions = { maxRetries: 0 };
      const bus = new ServiceBusClient(serviceBus, { retryOptions });
      await expect(bus.createSender('orders').sendMessages({ body })).rejects.toThrow(/50000/);
      await bus.close();
      const hub = new EventHubProducerClient(eventHubs, 'telemetry', { retryOptions });
      await expect(hub.sendBatch([{ body }])).rejects.toThrow(/50000/);
      await hub.close();
    }));

  it('keeps what was accepted in its data directory', () =>
    withScratchDirectory(async (dataDirectory) => {
      const options = { ports: { queue: 0 }, dataDirectory };
      await withEmulators(options, async ({ connectionStrings }) => {
        const client = QueueServiceClient.fromConnectionString(connectionStrings.storage ?? '');
        await client.createQueue('orders');
        await client.getQueueClient('orders').sendMessage('hello');
      });
      await withEmulators(options, async (emulators) =>
        expect(emulators.status()).toContainEqual(expect.objectContaining({ name: 'orders', depth: 1 })),
      );
    }));

  it.each(['queue', 'blob', 'table'] as const)(
    'says that another emulator has the port of %s, which goes on, and leaves nothing running',
    (service) =>
      withEmulators({ ports: { [service]: 0 } }, async ({ ports }) => {
        const port = ports[service] ?? 0;
        const second = startEmulators({ ports: { queue: 0, [service]: port } });
        await expect(second).rejects.toMatchObject({
          code: 'EMULATOR_PORT_IN_USE',
          service,
          port,
          isEmulator: true,
          message: expect.stringContaining('another emulator'),
        } satisfies Partial<Record<keyof PortInUseError, unknown>>);
      }),
  );

  it('knows an Azurite that was started by hand', async () => {
    const azurite = await startAzuriteProcess('queue', undefined);
    try {
      await expect(startEmulators({ ports: { queue: azurite.port } })).rejects.toMatchObject({ isEmulator: true });
    } finally {
      await azurite.stop();
    }
  });

  it('serves Service Bus and Event Hubs on one port, with the entities of a file', () =>
    withEmulators(
      {
        ports: { amqp: 0 },
        entities: {
          ...noEntities,
          queues: [{ name: 'chats', requiresSession: true }],
          topics: [{ name: 'news', subscriptions: [{ name: 'all', rules: [] }] }],
          eventHubs: [{ name: 'clicks', partitionCount: 2, consumerGroups: [] }],
        },
      },
      async (emulators) => {
        const bus = new ServiceBusClient(emulators.connectionStrings.serviceBus ?? '');
        const hubs = new EventHubProducerClient(emulators.connectionStrings.eventHubs ?? '', 'clicks');
        try {
          expect(await hubs.getPartitionIds()).toHaveLength(2);
          await hubs.sendBatch([{ body: 1 }]);
          await bus.createSender('chats').sendMessages({ body: 1, sessionId: 'room' });
          await bus.createSender('news').sendMessages({ body: 1 });
        } finally {
          await Promise.all([bus.close(), hubs.close()]);
        }
        const held = emulators.status().map(({ service, name, depth }) => `${service} ${name} ${depth}`);
        expect(held).toContain('service-bus chats 1');
        expect(held).toContain('event-hubs clicks 1');
        expect(held.filter((line) => /news.all 1$/.test(line.replace('/Subscriptions/', '.')))).toHaveLength(1);
        const refused = startEmulators({ ports: { amqp: emulators.ports.amqp ?? 0 } });
        await expect(refused).rejects.toMatchObject({ isEmulator: true, service: 'amqp' });
      },
    ));

  it('says that another program has the port', async () => {
    const stranger = createServer((socket) => void socket.end('220 hello\r\n'));
    const port = await listen(stranger);
    try {
      await expect(startEmulators({ ports: { queue: port } })).rejects.toMatchObject({
        isEmulator: false,
        message: expect.stringMatching(
          /^Port \d+ for storage queues is in use: another program .* choose another port/,
        ),
      });
    } finally {
      stranger.close();
    }
  });
});

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}
