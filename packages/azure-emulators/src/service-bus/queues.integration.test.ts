import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@drover/testkit';
import { receive, receiveOne, runServiceBus, type RunningServiceBus } from './running-service-bus.test.fixture.js';

const shortLockMs = 1_500;
let running: RunningServiceBus;

beforeAll(async () => {
  running = await runServiceBus({
    queues: [
      { name: 'twice', maxDeliveryCount: 2 },
      { name: 'short', lockDurationMs: shortLockMs },
      { name: 'mortal', defaultMessageTimeToLiveMs: 50, deadLetteringOnMessageExpiration: true },
      { name: 'unique', requiresDuplicateDetection: true },
    ],
  });
});
afterAll(() => running.stop());

let queues = 0;
/** A queue of its own for each test, made on first use. */
function freshQueue(): string {
  queues += 1;
  return `folder/queue-${queues}`;
}
const statusOf = (name: string): unknown => running.bus.console.entities().find((entity) => entity.name === name);
const queue = (name: string): ReturnType<RunningServiceBus['client']['createReceiver']> =>
  running.client.createReceiver(name);

describe('sending and receiving', () => {
  it('keeps every property and body, from single, array and batch sends', async () => {
    const orders = freshQueue();
    const sender = running.client.createSender(orders);
    await sender.sendMessages({
      body: { hello: ['wörld', 1, null] },
      messageId: 'm1',
      contentType: 'application/json',
      correlationId: 'c1',
      subject: 'label',
      to: 'there',
      replyTo: 'back',
      replyToSessionId: 'rs',
      partitionKey: 'pk',
      applicationProperties: { text: 'x', whole: 7, fraction: 2.5, flag: true, nothing: null },
    });
    await sender.sendMessages([{ body: 'two' }, { body: Buffer.from([0, 1, 255]) }]);
    const batch = await sender.createMessageBatch();
    expect(batch.maxSizeInBytes).toBe(1024 * 1024);
    expect(batch.tryAddMessage({ body: 'four', messageId: 'm4' })).toBe(true);
    await sender.sendMessages(batch);
    const receiver = queue(orders);
    const [first, second, third, fourth] = await receive(receiver, 4);
    expect(first).toMatchObject({
      body: { hello: ['wörld', 1, null] },
      messageId: 'm1',
      contentType: 'application/json',
      correlationId: 'c1',
      subject: 'label',
      to: 'there',
      replyTo: 'back',
      replyToSessionId: 'rs',
      partitionKey: 'pk',
      deliveryCount: 0,
      state: 'active',
      applicationProperties: { text: 'x', whole: 7, fraction: 2.5, flag: true, nothing: null },
    });
    expect(first?.sequenceNumber?.toNumber()).toBe(1);
    expect(first?.enqueuedSequenceNumber).toBe(1);
    expect(Math.abs(Date.now() - (first?.enqueuedTimeUtc?.getTime() ?? 0))).toBeLessThan(10_000);
    expect(first?.lockedUntilUtc?.getTime()).toBeGreaterThan(Date.now());
    expect([second?.body, fourth?.body, fourth?.messageId]).toEqual(['two', 'four', 'm4']);
    expect(Buffer.compare(third?.body as Buffer, Buffer.from([0, 1, 255]))).toBe(0);
    expect(second?.messageId).toMatch(/^[\da-f]{32}$/);
    for (const message of [first, second, third, fourth]) if (message) await receiver.completeMessage(message);
    expect(await receiver.receiveMessages(1, { maxWaitTimeInMs: 100 })).toEqual([]);
    await Promise.all([sender.close(), receiver.close()]);
  });

  it('returns from a receive call of an empty queue on time, and the receiver still works', async () => {
    const orders = freshQueue();
    const receiver = queue(orders);
    for (let round = 0; round < 3; round += 1)
      expect(await receiver.receiveMessages(5, { maxWaitTimeInMs: 30 })).toEqual([]);
    const sender = running.client.createSender(orders.toUpperCase());
    await sender.sendMessages({ body: 'late' });
    expect((await receiveOne(receiver)).body).toBe('late');
  });

  it('deletes what receive-and-delete hands out', async () => {
    const orders = freshQueue();
    await running.client.createSender(orders).sendMessages([{ body: 1 }, { body: 2 }]);
    const receiver = running.client.createReceiver(orders, { receiveMode: 'receiveAndDelete' });
    expect((await receive(receiver, 2)).map((message) => message.body as number)).toEqual([1, 2]);
    expect(statusOf(orders)).toMatchObject({ depth: 0, inFlight: 0 });
  });

  it('carries a message of 900 kB', async () => {
    const orders = freshQueue();
    const body = 'x'.repeat(900_000);
    await running.client.createSender(orders).sendMessages({ body });
    const receiver = queue(orders);
    const message = await receiveOne(receiver);
    expect(message.body).toBe(body);
    await receiver.completeMessage(message);
  });

  it('pushes messages to subscribe, abandons one whose handler throws, and goes on', async () => {
    const orders = freshQueue();
    const receiver = queue(orders);
    const seen: string[] = [];
    const failures: string[] = [];
    const subscription = receiver.subscribe(
      {
        processMessage: (message) => {
          seen.push(`${message.body as string}:${message.deliveryCount}`);
          return message.body === 'bad' && message.deliveryCount === 0
            ? Promise.reject(new Error('no'))
            : Promise.resolve();
        },
        processError: ({ error }) => {
          failures.push(error.message);
          return Promise.resolve();
        },
      },
      { maxConcurrentCalls: 1 },
    );
    await running.client.createSender(orders).sendMessages([{ body: 'a' }, { body: 'bad' }, { body: 'c' }]);
    await eventually(() =>
      expect(seen.toSorted((a, b) => a.localeCompare(b))).toEqual(['a:0', 'bad:0', 'bad:1', 'c:0']),
    );
    await eventually(() => expect(statusOf(orders)).toMatchObject({ depth: 0, inFlight: 0 }));
    expect(failures).toEqual(['no']);
    await subscription.close();
    await receiver.close();
  });
});

describe('settling', () => {
  it('abandons to the dead-letter queue at the maximum, with modified properties', async () => {
    await running.client.createSender('twice').sendMessages({ body: 'poison', applicationProperties: { kept: 'yes' } });
    const receiver = queue('twice');
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const message = await receiveOne(receiver);
      expect(message.deliveryCount).toBe(attempt);
      await receiver.abandonMessage(message, { attempt, note: 'failed' });
    }
    const dead = await receiveOne(running.client.createReceiver('twice', { subQueueType: 'deadLetter' }));
    expect(dead).toMatchObject({
      body: 'poison',
      deadLetterReason: 'MaxDeliveryCountExceeded',
      deadLetterErrorDescription: 'Message could not be consumed after 2 delivery attempts.',
      deadLetterSource: 'twice',
      applicationProperties: { kept: 'yes', attempt: 1, note: 'failed' },
    });
  });

  it('dead-letters with a reason, and settles in the dead-letter queue', async () => {
    const orders = freshQueue();
    await running.client.createSender(orders).sendMessages({ body: 'refused' });
    const receiver = queue(orders);
    await receiver.deadLetterMessage(await receiveOne(receiver), {
      deadLetterReason: 'why',
      deadLetterErrorDescription: 'because',
      extra: 5,
    });
    const deadLetters = running.client.createReceiver(orders, { subQueueType: 'deadLetter' });
    const dead = await receiveOne(deadLetters);
    expect(dead).toMatchObject({
      deadLetterReason: 'why',
      deadLetterErrorDescription: 'because',
      applicationProperties: { extra: 5 },
    });
    await deadLetters.completeMessage(dead);
    expect(await deadLetters.peekMessages(1)).toEqual([]);
  });

  it('defers a message, which is then received by its number only', async () => {
    const orders = freshQueue();
    await running.client.createSender(orders).sendMessages([{ body: 'first' }, { body: 'second' }]);
    const receiver = queue(orders);
    const first = await receiveOne(receiver);
    await receiver.deferMessage(first, { put: 'aside' });
    const second = await receiveOne(receiver);
    expect(second.body).toBe('second');
    await receiver.completeMessage(second);
    const number = first.sequenceNumber;
    if (number === undefined) throw new Error('no sequence number');
    const [deferred] = await receiver.receiveDeferredMessages(number);
    expect(deferred).toMatchObject({ body: 'first', state: 'deferred', applicationProperties: { put: 'aside' } });
    if (deferred) await receiver.completeMessage(deferred);
    await expect(receiver.receiveDeferredMessages(number)).rejects.toMatchObject({ code: 'MessageNotFound' });
  });

  it('renews a lock, and loses one that is not renewed', async () => {
    await running.client.createSender('short').sendMessages({ body: 'slow' });
    const receiver = running.client.createReceiver('short', { maxAutoLockRenewalDurationInMs: 0 });
    const message = await receiveOne(receiver);
    const until = message.lockedUntilUtc?.getTime() ?? 0;
    const renewed = await receiver.renewMessageLock(message);
    expect(renewed.getTime()).toBeGreaterThanOrEqual(until);
    await eventually(() => expect(statusOf('short')).toMatchObject({ depth: 1 }));
    await expect(receiver.completeMessage(message)).rejects.toMatchObject({ code: 'MessageLockLost' });
    await expect(receiver.renewMessageLock(message)).rejects.toMatchObject({ code: 'MessageLockLost' });
    const again = await receiveOne(receiver);
    expect(again.deliveryCount).toBe(1);
    await receiver.completeMessage(again);
    await receiver.close();
  });

  it('lets the SDK renew locks by itself while a handler runs', async () => {
    await running.client.createSender('short').sendMessages({ body: 'long work' });
    const receiver = queue('short');
    let deliveries = 0;
    const subscription = receiver.subscribe({
      processMessage: async () => {
        deliveries += 1;
        await new Promise((resolve) => setTimeout(resolve, shortLockMs * 1.5));
      },
      processError: ({ error }) => Promise.reject(error),
    });
    await eventually(() => expect(statusOf('short')).toMatchObject({ depth: 0, inFlight: 1 }));
    await eventually(() => expect(statusOf('short')).toMatchObject({ depth: 0, inFlight: 0 }));
    expect(deliveries).toBe(1);
    await subscription.close();
    await receiver.close();
  });

  it('settles through the management node after the receiver has closed', async () => {
    const orders = freshQueue();
    await running.client.createSender(orders).sendMessages([{ body: 'a' }, { body: 'b' }]);
    const receiver = queue(orders);
    const [a, b] = await receive(receiver, 2);
    const other = running.client.createReceiver(orders);
    await receiver.close();
    if (a) await other.completeMessage(a);
    if (b) await other.deadLetterMessage(b, { deadLetterReason: 'late', deadLetterErrorDescription: '' });
    expect(statusOf(orders)).toMatchObject({ depth: 0, inFlight: 0, deadLetters: 1 });
  });

  it('cannot repair two outcomes that the SDK merges into one frame, and applies them as sent with a turn in between', async () => {
    const orders = freshQueue();
    const receiver = queue(orders);
    const sender = running.client.createSender(orders);
    const settleBoth = async (isApart: boolean): Promise<unknown> => {
      await sender.sendMessages([{ body: 'done' }, { body: 'again' }]);
      const [done, again] = await receive(receiver, 2);
      if (done === undefined || again === undefined) throw new Error('two messages were sent');
      const completed = receiver.completeMessage(done);
      if (isApart) await new Promise((resolve) => setImmediate(resolve));
      await Promise.all([completed, receiver.abandonMessage(again)]);
      return statusOf(orders);
    };
    expect(await settleBoth(true)).toMatchObject({ depth: 1, inFlight: 0 });
    await running.bus.console.purge(orders, { deadLetters: false });
    // The client says "accepted" for both deliveries: the abandoned message is lost before the server hears of it.
    expect(await settleBoth(false)).toMatchObject({ depth: 0, inFlight: 0 });
  });
});

describe('times', () => {
  it('peeks in pages without locking, scheduled messages included', async () => {
    const orders = freshQueue();
    const sender = running.client.createSender(orders);
    await sender.sendMessages(Array.from({ length: 5 }, (_, index) => ({ body: index })));
    const [number] = await sender.scheduleMessages({ body: 'later' }, new Date(Date.now() + 60_000));
    const receiver = queue(orders);
    const [one, two] = [await receiver.peekMessages(4), await receiver.peekMessages(4)];
    expect([...one, ...two].map((message) => message.body as unknown)).toEqual([0, 1, 2, 3, 4, 'later']);
    expect(two.at(-1)?.state).toBe('scheduled');
    if (number) await sender.cancelScheduledMessages(number);
    if (number) await expect(sender.cancelScheduledMessages(number)).rejects.toThrow();
  });

  it('delivers scheduled messages at their time, by schedule and by send', async () => {
    const orders = freshQueue();
    const sender = running.client.createSender(orders);
    const receiver = queue(orders);
    const at = new Date(Date.now() + 150);
    await sender.scheduleMessages([{ body: 'scheduled' }], at);
    await sender.sendMessages({ body: 'sent', scheduledEnqueueTimeUtc: at });
    const messages = await receive(receiver, 2);
    expect(messages.map((message) => message.body as string).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'scheduled',
      'sent',
    ]);
    for (const message of messages) {
      expect(message.enqueuedTimeUtc?.getTime()).toBeGreaterThanOrEqual(at.getTime());
      await receiver.completeMessage(message);
    }
  });

  it('moves expired messages to the dead-letter queue', async () => {
    await running.client.createSender('mortal').sendMessages({ body: 'x', timeToLive: 20_000 });
    const dead = await receiveOne(running.client.createReceiver('mortal', { subQueueType: 'deadLetter' }));
    expect(dead.deadLetterReason).toBe('TTLExpiredException');
  });

  it('drops a message id that it has seen', async () => {
    const sender = running.client.createSender('unique');
    await sender.sendMessages([
      { body: 1, messageId: 'same' },
      { body: 2, messageId: 'same' },
      { body: 3, messageId: 'other' },
    ]);
    const messages = await receive(queue('unique'), 2);
    expect(messages.map((message) => message.body as number)).toEqual([1, 3]);
  });
});
