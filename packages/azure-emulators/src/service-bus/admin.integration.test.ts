import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { receiveOne, runServiceBus, type RunningServiceBus } from './running-service-bus.test.fixture.js';

const manyTopics = Array.from({ length: 250 }, (_, index) => `many-${String(index).padStart(3, '0')}`);
let running: RunningServiceBus;

beforeAll(async () => {
  running = await runServiceBus(
    { topics: manyTopics.map((name) => ({ name, subscriptions: [] })) },
    { createOnFirstUse: false },
  );
});
afterAll(() => running.stop());

describe('the administration client of the SDK, on the AMQP port', () => {
  it('reads the namespace', async () => {
    expect(await running.admin.getNamespaceProperties()).toMatchObject({ name: 'localhost', messagingSku: 'Premium' });
  });

  it('keeps how long an entity may be idle, how often messages are delivered and how large they may be', async () => {
    const options = { autoDeleteOnIdle: 'PT5M', maxMessageSizeInKilobytes: 2048, maxDeliveryCount: 2_147_483_647 };
    expect(await running.admin.createQueue('options', options)).toMatchObject(options);
    const queue = await running.admin.getQueue('options');
    expect(await running.admin.updateQueue({ ...queue, lockDuration: 'PT30S' })).toMatchObject(options);
    expect(await running.admin.createTopic('options-topic', { autoDeleteOnIdle: 'P1D' })).toMatchObject({
      autoDeleteOnIdle: 'P1D',
      maxMessageSizeInKilobytes: 1024,
    });
    const body = Buffer.alloc(1_500_000, 7);
    await running.client.createSender('options').sendMessages({ body });
    const received: Buffer = (await receiveOne(running.client.createReceiver('options'))).body;
    expect(received.equals(body)).toBe(true);
    await running.admin.deleteTopic('options-topic');
    await running.admin.deleteQueue('options');
    await expect(running.admin.createQueue('never', { autoDeleteOnIdle: 'PT1M' })).rejects.toThrow(
      'autoDeleteOnIdleMs',
    );
  });

  it('is told what the emulator does not offer, instead of having it dropped', async () => {
    await expect(running.admin.createQueue('no', { enablePartitioning: true })).rejects.toThrow('EnablePartitioning');
    await expect(running.admin.createTopic('no', { enablePartitioning: true })).rejects.toThrow('EnablePartitioning');
    const rule = { claimType: 'SharedAccessKey', accessRights: ['Send' as const], keyName: 'sender' };
    await expect(running.admin.createQueue('no', { authorizationRules: [rule] })).rejects.toThrow('AuthorizationRules');
  });

  it('creates, reads, updates, lists and deletes queues', async () => {
    const created = await running.admin.createQueue('folder/orders', {
      lockDuration: 'PT45S',
      maxDeliveryCount: 3,
      requiresSession: true,
      requiresDuplicateDetection: true,
      duplicateDetectionHistoryTimeWindow: 'PT2M30S',
      defaultMessageTimeToLive: 'P1DT1H',
      deadLetteringOnMessageExpiration: true,
      userMetadata: 'a < b & "c"',
    });
    expect(created).toMatchObject({
      name: 'folder/orders',
      lockDuration: 'PT45S',
      maxDeliveryCount: 3,
      requiresSession: true,
      requiresDuplicateDetection: true,
      duplicateDetectionHistoryTimeWindow: 'PT2M30S',
      defaultMessageTimeToLive: 'P1DT1H',
      deadLetteringOnMessageExpiration: true,
      userMetadata: 'a < b & "c"',
      status: 'Active',
    });
    await expect(running.admin.createQueue('Folder/Orders')).rejects.toMatchObject({
      code: 'MessageEntityAlreadyExistsError',
    });
    const queue = await running.admin.getQueue('folder/orders');
    queue.maxDeliveryCount = 7;
    queue.lockDuration = 'PT1M';
    expect(await running.admin.updateQueue(queue)).toMatchObject({
      maxDeliveryCount: 7,
      lockDuration: 'PT1M',
      requiresSession: true,
    });
    expect(await running.admin.queueExists('folder/orders')).toBe(true);
    await running.admin.deleteQueue('folder/orders');
    expect(await running.admin.queueExists('folder/orders')).toBe(false);
    await expect(running.admin.getQueue('folder/orders')).rejects.toMatchObject({ code: 'MessageEntityNotFoundError' });
    await expect(running.admin.createQueue('bad', { maxDeliveryCount: 0 })).rejects.toThrow('maxDeliveryCount is 0');
    await expect(running.admin.createQueue('bad', { lockDuration: 'soon' })).rejects.toThrow(
      '"soon" is not a duration',
    );
  });

  it('forwards where it is told to and stops when that is taken back', async () => {
    await running.admin.createQueue('target');
    const source = await running.admin.createQueue('source', { forwardTo: 'target' });
    expect(source.forwardTo).toBe('target');
    await running.client.createSender('source').sendMessages({ body: 'forwarded' });
    expect((await receiveOne(running.client.createReceiver('target'))).body).toBe('forwarded');
    delete source.forwardTo;
    await running.admin.updateQueue(source);
    await running.client.createSender('source').sendMessages({ body: 'stays' });
    expect((await running.admin.getQueueRuntimeProperties('source')).activeMessageCount).toBe(1);
  });

  it('counts messages by state', async () => {
    await running.admin.createQueue('counted');
    const sender = running.client.createSender('counted');
    await sender.sendMessages([{ body: 1 }, { body: 2 }, { body: 3 }]);
    await sender.scheduleMessages({ body: 4 }, new Date(Date.now() + 60_000));
    const receiver = running.client.createReceiver('counted');
    await receiver.deadLetterMessage(await receiveOne(receiver));
    await receiveOne(receiver);
    const counts = { totalMessageCount: 4, activeMessageCount: 2, deadLetterMessageCount: 1, scheduledMessageCount: 1 };
    const runtime = await running.admin.getQueueRuntimeProperties('counted');
    expect(runtime).toMatchObject({ name: 'counted', ...counts });
    expect(runtime.sizeInBytes).toBeGreaterThan(0);
    const listed = [];
    for await (const queue of running.admin.listQueuesRuntimeProperties()) listed.push(queue);
    expect(listed.find((queue) => queue.name === 'counted')).toMatchObject(counts);
  });

  it('lists in pages', async () => {
    const listed: string[] = [];
    for await (const topic of running.admin.listTopics()) listed.push(topic.name);
    expect(listed).toEqual(manyTopics);
  });

  it('manages topics, subscriptions and rules', async () => {
    expect(await running.admin.createTopic('prices', { defaultMessageTimeToLive: 'PT1H' })).toMatchObject({
      name: 'prices',
      defaultMessageTimeToLive: 'PT1H',
    });
    const subscription = await running.admin.createSubscription('prices', 'eu', {
      maxDeliveryCount: 4,
      defaultRuleOptions: { name: 'first', filter: { sqlExpression: "zone = 'eu'" } },
    });
    expect(subscription).toMatchObject({ topicName: 'prices', subscriptionName: 'eu', maxDeliveryCount: 4 });
    const at = new Date(1_700_000_000_000);
    await running.admin.createRule(
      'prices',
      'eu',
      'second',
      { sqlExpression: 'price > @limit', sqlParameters: { '@limit': 5 } },
      { sqlExpression: 'SET big = true' },
    );
    await running.admin.createRule('prices', 'eu', 'third', {
      correlationId: 'c',
      applicationProperties: { text: 'x', size: 3, flag: true, at },
    });
    await expect(running.admin.createRule('prices', 'eu', 'third', { sqlExpression: '1=1' })).rejects.toMatchObject({
      code: 'MessageEntityAlreadyExistsError',
    });
    await expect(running.admin.createRule('prices', 'eu', 'wrong', { sqlExpression: 'price >' })).rejects.toThrow(
      'position 8',
    );
    const rules = [];
    for await (const rule of running.admin.listRules('prices', 'eu')) rules.push(rule);
    expect(rules).toMatchObject([
      { name: 'first', filter: { sqlExpression: "zone = 'eu'" } },
      {
        name: 'second',
        filter: { sqlExpression: 'price > @limit', sqlParameters: { '@limit': 5 } },
        action: { sqlExpression: 'SET big = true' },
      },
      { name: 'third', filter: { correlationId: 'c', applicationProperties: { text: 'x', size: 3, flag: true, at } } },
    ]);
    const second = await running.admin.getRule('prices', 'eu', 'second');
    second.filter = { sqlExpression: 'price > 100' };
    await running.admin.updateRule('prices', 'eu', second);
    await running.admin.deleteRule('prices', 'eu', 'first');
    await running.client.createSender('prices').sendMessages([
      { body: 'cheap', applicationProperties: { price: 50 } },
      { body: 'dear', applicationProperties: { price: 500 } },
    ]);
    const message = await receiveOne(running.client.createReceiver('prices', 'eu'));
    expect(message).toMatchObject({ body: 'dear', applicationProperties: { big: true } });
    expect(await running.admin.getSubscriptionRuntimeProperties('prices', 'eu')).toMatchObject({
      totalMessageCount: 1,
      activeMessageCount: 1,
    });
    expect(await running.admin.getTopicRuntimeProperties('prices')).toMatchObject({
      subscriptionCount: 1,
      scheduledMessageCount: 0,
    });
    subscription.status = 'ReceiveDisabled';
    await running.admin.updateSubscription(subscription);
    await expect(running.client.createReceiver('prices', 'eu').receiveMessages(1)).rejects.toMatchObject({
      code: 'MessagingEntityDisabled',
    });
    await running.admin.deleteSubscription('prices', 'eu');
    expect(await running.admin.subscriptionExists('prices', 'eu')).toBe(false);
    await running.admin.deleteTopic('prices');
    expect(await running.admin.topicExists('prices')).toBe(false);
  });

  it('tells receivers of an entity that it was deleted', async () => {
    await running.admin.createQueue('doomed');
    const receiver = running.client.createReceiver('doomed');
    const failed = new Promise<unknown>((resolve) => {
      receiver.subscribe({
        processMessage: () => Promise.resolve(),
        processError: ({ error }) => Promise.resolve(resolve(error)),
      });
    });
    await running.client.createSender('doomed').sendMessages({ body: 1 });
    await running.admin.deleteQueue('doomed');
    expect(await failed).toMatchObject({ code: 'MessagingEntityNotFound' });
    await receiver.close();
  });

  it('answers what it cannot read with a reason instead of failing', async () => {
    const base = running.connectionString.replace(/^Endpoint=sb:\/\/([^;]+);.*$/, 'http://$1');
    const put = (body: string): Promise<Response> => fetch(`${base}/q`, { method: 'PUT', body });
    expect((await put('<entry><content>')).status).toBe(400);
    expect(await (await put('<entry><content type="x"><Nonsense/></content></entry>')).text()).toContain(
      'no entity description',
    );
    expect((await put('x'.repeat(300_000))).status).toBe(400);
    expect((await fetch(`${base}/q`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${base}/%E0%A4%A`)).status).toBe(400);
  });
});
