import path from 'node:path';
import { ServiceBusClient } from '@azure/service-bus';
import { Child, eventually, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { receive, receiveOne, runServiceBus, type RunningServiceBus } from './running-service-bus.test.fixture.js';

async function withServiceBus(
  test: (running: RunningServiceBus) => Promise<void>,
  ...settings: Parameters<typeof runServiceBus>
): Promise<void> {
  const running = await runServiceBus(...settings);
  try {
    await test(running);
  } finally {
    await running.stop();
  }
}

/** Tells that no message is left. A client remembers how far it has peeked, so each look takes a new one. */
async function isEmpty(connection: string): Promise<boolean> {
  const client = new ServiceBusClient(connection);
  const messages = await client.createReceiver('orders').peekMessages(1);
  await client.close();
  return messages.length === 0;
}

describe('Service Bus in trouble', () => {
  it('serves clients again after their connections were cut, and redelivers what they had', () =>
    withServiceBus(
      async (running) => {
        // A send that is under way when the connection breaks ends with the timeout of the SDK.
        const retryOptions = { maxRetries: 1, retryDelayInMs: 50, timeoutInMs: 3_000 };
        const client = new ServiceBusClient(running.connectionString, { retryOptions });
        const receiver = client.createReceiver('orders');
        const seen: unknown[] = [];
        receiver.subscribe({
          processMessage: (message) => Promise.resolve(void seen.push(message.body)),
          processError: () => Promise.resolve(),
        });
        const sender = client.createSender('orders');
        await sender.sendMessages({ body: 'before' });
        await eventually(() => expect(seen).toEqual(['before']));
        running.server.dropConnections();
        await eventually(() => sender.sendMessages({ body: 'after' }));
        await eventually(() => expect(seen).toContain('after'));
        await client.close();
      },
      { queues: [{ name: 'orders' }] },
    ));

  it('refuses messages beyond its bound of memory, and takes them when there is room again', () =>
    withServiceBus(
      async (running) => {
        const sender = running.client.createSender('orders');
        await sender.sendMessages({ body: 'x'.repeat(60_000) });
        await expect(sender.sendMessages({ body: 'x'.repeat(60_000) })).rejects.toMatchObject({
          code: 'QuotaExceeded',
          message: expect.stringContaining('raise its memory bound'),
        });
        await running.bus.console.purge('orders', { deadLetters: false });
        await sender.sendMessages({ body: 'x'.repeat(60_000) });
      },
      {},
      { maxBytes: 100_000 },
    ));

  it('refuses a message that is larger than a link takes', () =>
    withServiceBus(async (running) => {
      const sender = running.client.createSender('orders');
      await expect(sender.sendMessages({ body: 'x'.repeat(1_100_000) })).rejects.toMatchObject({
        code: 'MessageSizeExceeded',
      });
    }));
});

describe('the console of Service Bus', () => {
  it('shows, sends, requeues and purges', () =>
    withServiceBus(
      async ({ bus: { console: page }, client }) => {
        await page.send('orders', { body: 'typed', contentType: 'text/plain', properties: { color: 'red' } });
        const receiver = client.createReceiver('orders');
        const typed = await receiveOne(receiver);
        expect(typed).toMatchObject({
          body: Buffer.from('typed'),
          contentType: 'text/plain',
          applicationProperties: { color: 'red' },
        });
        await receiver.deadLetterMessage(typed, { deadLetterReason: 'bad', deadLetterErrorDescription: 'very' });
        expect(page.entities()).toMatchObject([
          {
            service: 'service-bus',
            kind: 'queue',
            name: 'orders',
            depth: 0,
            inFlight: 0,
            deadLetters: 1,
            oldestAgeMs: undefined,
          },
        ]);
        expect(await page.peek('orders', { deadLetters: true, max: 10 })).toMatchObject([
          {
            state: 'dead letter',
            body: 'typed',
            properties: { color: 'red', DeadLetterReason: 'bad', contentType: 'text/plain' },
          },
        ]);
        expect(await page.requeue('orders')).toBe(1);
        await client.createSender('orders').sendMessages({ body: { json: true } });
        const [first, second] = await page.peek('orders', { deadLetters: false, max: 10 });
        expect([first?.body, second?.body, first?.state]).toEqual(['typed', '{"json":true}', 'active']);
        expect(await page.peek('orders', { deadLetters: false, after: first?.id ?? '', max: 10 })).toHaveLength(1);
        expect(page.entities()[0]?.oldestAgeMs).toBeGreaterThanOrEqual(0);
        expect(await page.purge('orders', { deadLetters: false })).toBe(2);
        await expect(page.peek('none', { deadLetters: false, max: 1 })).rejects.toThrow("'none' could not be found");
      },
      { queues: [{ name: 'orders' }] },
    ));
});

describe('a durable Service Bus', () => {
  it('has everything that it accepted after kill -9; locks end and count, settled messages stay away', () =>
    withScratchDirectory(async (directory) => {
      const program = path.resolve(import.meta.dirname, '../../dist/service-bus/testing/service-bus-process.js');
      const start = async (): Promise<{ child: Child; connection: string; client: ServiceBusClient }> => {
        const child = new Child(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
        const port = (await child.line(/^port \d+$/)).slice(5);
        const connection = `Endpoint=sb://localhost:${port};SharedAccessKeyName=any;SharedAccessKey=any;UseDevelopmentEmulator=true;`;
        return {
          child,
          connection,
          client: new ServiceBusClient(connection, { retryOptions: { maxRetries: 0, timeoutInMs: 30_000 } }),
        };
      };
      const first = await start();
      // A call of the SDK that was under way may notice the end only when its time is over.
      const killed = first.child.exited.then(() => Promise.reject(new Error('the emulator was killed')));
      killed.catch(() => undefined);
      const accepted = new Set<string>();
      const settling = new Set<string>();
      const completed = new Set<string>();
      const sender = first.client.createSender('orders');
      const send = async (stream: number): Promise<void> => {
        for (let n = 0; ; n += 1) {
          const ids = [`${stream}-${n}-a`, `${stream}-${n}-b`];
          await Promise.race([sender.sendMessages(ids.map((body) => ({ body }))), killed]);
          for (const id of ids) accepted.add(id);
        }
      };
      const receiver = first.client.createReceiver('orders');
      const complete = async (): Promise<void> => {
        for (;;) {
          for (const message of await Promise.race([receiver.receiveMessages(5), killed])) {
            settling.add(message.body as string);
            await Promise.race([receiver.completeMessage(message), killed]);
            completed.add(message.body as string);
          }
        }
      };
      const loops = [send(1), send(2), send(3), complete()].map((loop) => loop.catch(() => undefined));
      await eventually(() => accepted.size > 200 && completed.size > 20);
      const held = await receive(first.client.createReceiver('orders'), 1);
      first.child.kill('SIGKILL');
      await Promise.all([first.child.exited, ...loops]);
      void first.client.close().catch(() => undefined);
      const second = await start();
      const deleting = second.client.createReceiver('orders', { receiveMode: 'receiveAndDelete' });
      const found = new Map<string, number | undefined>();
      for (;;) {
        const messages = await deleting.receiveMessages(500, { maxWaitTimeInMs: 300 });
        // A slow machine may deliver nothing for that long.
        if (messages.length === 0 && (await isEmpty(second.connection))) break;
        for (const message of messages) found.set(message.body as string, message.deliveryCount);
      }
      const missing = [...accepted].filter((id) => !found.has(id) && !completed.has(id));
      // The completion that was in flight may have become durable without an answer.
      expect(missing.filter((id) => !settling.has(id))).toEqual([]);
      expect(missing.length).toBeLessThanOrEqual(1);
      expect([...completed].filter((id) => found.has(id))).toEqual([]);
      expect(found.get(held[0]?.body as string)).toBe(1);
      await second.client.close();
      await second.child.end();
    }));

  it('keeps entities, rules, sessions, schedules and duplicate ids over a restart', () =>
    withScratchDirectory(async (directory) => {
      const durable = (test: (running: RunningServiceBus) => Promise<void>): Promise<void> =>
        withServiceBus(test, {}, { directory });
      await durable(async ({ admin, client }) => {
        await admin.createQueue('unique', { requiresDuplicateDetection: true });
        await admin.createQueue('jobs', { requiresSession: true });
        await admin.createTopic('prices');
        await admin.createSubscription('prices', 'eu', {
          defaultRuleOptions: { name: 'r', filter: { sqlExpression: 'size = @size', sqlParameters: { size: 3 } } },
        });
        await client.createSender('unique').sendMessages({ body: 1, messageId: 'same' });
        await client.createSender('unique').scheduleMessages({ body: 'later' }, new Date(Date.now() + 3_600_000));
        await client.createSender('jobs').sendMessages({ body: 'a', sessionId: 's' });
        const session = await client.acceptSession('jobs', 's');
        await session.setSessionState('kept');
        await session.close();
      });
      await durable(async ({ admin, bus, client }) => {
        await bus.declare({ queues: [{ name: 'unique', maxDeliveryCount: 4 }, { name: 'new' }], topics: [] });
        expect(await admin.getQueue('unique')).toMatchObject({ maxDeliveryCount: 4, requiresDuplicateDetection: true });
        expect(await admin.queueExists('new')).toBe(true);
        await client.createSender('unique').sendMessages({ body: 2, messageId: 'same' });
        expect(await admin.getQueueRuntimeProperties('unique')).toMatchObject({
          activeMessageCount: 1,
          scheduledMessageCount: 1,
        });
        const session = await client.acceptNextSession('jobs');
        expect(String(await session.getSessionState())).toBe('kept');
        expect((await receiveOne(session)).body).toBe('a');
        await client
          .createSender('prices')
          .sendMessages([{ body: 'no' }, { body: 'yes', applicationProperties: { size: 3 } }]);
        const message = await receiveOne(client.createReceiver('prices', 'eu'));
        expect(message.body).toBe('yes');
        expect(message.sequenceNumber?.toNumber()).toBe(1);
      });
    }));
});
