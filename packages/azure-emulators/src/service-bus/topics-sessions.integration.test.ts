import { ServiceBusClient, type ServiceBusSessionReceiver } from '@azure/service-bus';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { receive, receiveOne, runServiceBus, type RunningServiceBus } from './running-service-bus.test.fixture.js';

const lockMs = 600;
let running: RunningServiceBus;

beforeAll(async () => {
  running = await runServiceBus(
    {
      queues: [
        { name: 'plain' },
        { name: 'jobs', requiresSession: true },
        { name: 'ordered', requiresSession: true },
        { name: 'state', requiresSession: true },
        { name: 'waiting', requiresSession: true },
        { name: 'expiring', requiresSession: true, lockDurationMs: lockMs },
      ],
      topics: [
        {
          name: 'prices',
          subscriptions: [
            { name: 'all', rules: [] },
            {
              name: 'red',
              rules: [
                {
                  name: 'color',
                  filter: { kind: 'correlation', fields: { label: 'price', properties: { color: 'red', size: 3 } } },
                },
              ],
            },
            {
              name: 'cheap',
              rules: [{ name: 'sql', filter: { kind: 'sql', expression: "price < 10 AND sys.Label LIKE 'pri%'" } }],
            },
            {
              name: 'painted',
              rules: [
                {
                  name: 'paint',
                  filter: { kind: 'true' },
                  action: "SET color = 'blue'; SET sys.Label = 'painted'; REMOVE price",
                },
              ],
            },
          ],
        },
        { name: 'managed', subscriptions: [{ name: 'rules', rules: [] }] },
      ],
    },
    { createOnFirstUse: false },
  );
});
afterAll(() => running.stop());

describe('topics', () => {
  it('copies a message to the subscriptions whose rules match and runs actions', async () => {
    await running.client.createSender('prices').sendMessages([
      { body: 'a', subject: 'price', applicationProperties: { color: 'red', size: 3, price: 20 } },
      { body: 'b', subject: 'price', applicationProperties: { color: 'blue', size: 3, price: 9.5 } },
      { body: 'c', subject: 'other', applicationProperties: { color: 'red', size: 3, price: 1 } },
    ]);
    const bodies = async (subscription: string, count: number): Promise<unknown[]> => {
      const receiver = running.client.createReceiver('prices', subscription);
      const messages = await receive(receiver, count);
      expect(await receiver.receiveMessages(1, { maxWaitTimeInMs: 20 })).toEqual([]);
      return messages.map((message) => message.body as unknown);
    };
    expect(await bodies('all', 3)).toEqual(['a', 'b', 'c']);
    expect(await bodies('red', 1)).toEqual(['a']);
    expect(await bodies('cheap', 1)).toEqual(['b']);
    const [painted] = await receive(running.client.createReceiver('prices', 'painted'), 3);
    expect(painted).toMatchObject({ body: 'a', subject: 'painted', applicationProperties: { color: 'blue', size: 3 } });
    expect(painted?.applicationProperties).not.toHaveProperty('price');
  });

  it('adds, lists and removes rules through the rule manager of the SDK', async () => {
    const rules = running.client.createRuleManager('managed', 'rules');
    await rules.createRule('sql', { sqlExpression: "color = 'red'" }, { sqlExpression: 'SET seen = 1' });
    await rules.createRule('correlation', { correlationId: 'c', subject: 's', applicationProperties: { size: 3 } });
    await rules.deleteRule('$Default');
    const listed = [];
    for await (const rule of rules.listRules()) listed.push(rule);
    expect(listed).toMatchObject([
      { name: 'sql', filter: { sqlExpression: "color = 'red'" }, action: { sqlExpression: 'SET seen = 1' } },
      { name: 'correlation', filter: { correlationId: 'c', subject: 's', applicationProperties: { size: 3 } } },
    ]);
    await expect(rules.createRule('sql', { sqlExpression: '1=1' })).rejects.toThrow('already exists');
    await expect(rules.createRule('bad', { sqlExpression: 'color = ' })).rejects.toThrow('position 9');
    await expect(rules.deleteRule('none')).rejects.toMatchObject({ code: 'MessagingEntityNotFound' });
  });

  it('schedules on a topic', async () => {
    await running.client
      .createSender('managed')
      .scheduleMessages({ body: 'later', applicationProperties: { color: 'red' } }, new Date(Date.now() + 60));
    const message = await receiveOne(running.client.createReceiver('managed', 'rules'));
    expect(message).toMatchObject({ body: 'later', applicationProperties: { seen: 1 } });
  });
});

describe('entities that are not there', () => {
  it('are refused with the code of the SDK, on send and on receive', async () => {
    await expect(running.client.createSender('nope').sendMessages({ body: 1 })).rejects.toMatchObject({
      code: 'MessagingEntityNotFound',
    });
    await expect(running.client.createReceiver('nope').receiveMessages(1)).rejects.toMatchObject({
      code: 'MessagingEntityNotFound',
    });
    await expect(running.client.createReceiver('prices', 'nope').peekMessages(1)).rejects.toMatchObject({
      code: 'MessagingEntityNotFound',
    });
  });
});

describe('sessions', () => {
  const send = (queue: string, ...messages: readonly (readonly [sessionId: string, body: string])[]): Promise<void> =>
    running.client.createSender(queue).sendMessages(messages.map(([sessionId, body]) => ({ sessionId, body })));
  const drain = async (receiver: ServiceBusSessionReceiver, count: number): Promise<unknown[]> => {
    const messages = await receive(receiver, count);
    for (const message of messages) await receiver.completeMessage(message);
    return messages.map((message) => message.body as unknown);
  };

  it('refuse a message without a session id, and receivers of the wrong kind', async () => {
    await expect(running.client.createSender('jobs').sendMessages({ body: 1 })).rejects.toThrow('requires sessions');
    await expect(running.client.createReceiver('jobs').receiveMessages(1)).rejects.toThrow('requires sessions');
    await expect(running.client.acceptNextSession('plain')).rejects.toThrow('does not have sessions');
  });

  it('are given out one after the other, each in order, to one receiver at a time', async () => {
    await send('ordered', ['s1', 'a'], ['s2', 'x'], ['s1', 'b'], ['s1', 'c']);
    const first = await running.client.acceptNextSession('ordered');
    expect(first.sessionId).toBe('s1');
    expect(first.sessionLockedUntilUtc.getTime()).toBeGreaterThan(Date.now());
    await expect(running.client.acceptSession('ordered', 's1')).rejects.toMatchObject({
      code: 'SessionCannotBeLocked',
    });
    const second = await running.client.acceptNextSession('ordered');
    expect(second.sessionId).toBe('s2');
    const [a] = await receive(first, 1);
    if (a) await first.abandonMessage(a);
    expect(await drain(first, 3)).toEqual(['a', 'b', 'c']);
    expect(await drain(second, 1)).toEqual(['x']);
    await Promise.all([first.close(), second.close()]);
    const again = await running.client.acceptSession('ordered', 's1');
    expect(await again.receiveMessages(1, { maxWaitTimeInMs: 20 })).toEqual([]);
    await again.close();
  });

  it('keep state, renew their lock, and defer messages', async () => {
    await send('state', ['s', 'a']);
    const session = await running.client.acceptSession('state', 's');
    expect(await session.getSessionState()).toBeNull();
    await session.setSessionState('half done');
    const before = session.sessionLockedUntilUtc.getTime();
    expect((await session.renewSessionLock()).getTime()).toBeGreaterThanOrEqual(before);
    const message = await receiveOne(session);
    await session.deferMessage(message);
    const number = message.sequenceNumber;
    if (number === undefined) throw new Error('no sequence number');
    const [deferred] = await session.receiveDeferredMessages(number);
    if (deferred) await session.completeMessage(deferred);
    expect((await session.peekMessages(1)).length).toBe(0);
    await session.close();
    const next = await running.client.acceptSession('state', 's');
    expect(String(await next.getSessionState())).toBe('half done');
    await next.setSessionState(null);
    expect(await next.getSessionState()).toBeNull();
    await next.close();
  });

  it('are waited for, and refused with a timeout when none comes', async () => {
    const options = { retryOptions: { maxRetries: 0, timeoutInMs: 1_000 } };
    const patient = running.client.acceptNextSession('waiting');
    await send('waiting', ['late', 'x']);
    const session = await patient;
    expect(session.sessionId).toBe('late');
    expect(await drain(session, 1)).toEqual(['x']);
    await session.close();
    const impatient = new ServiceBusClient(running.connectionString, options);
    await expect(impatient.acceptNextSession('waiting')).rejects.toMatchObject({ code: 'ServiceTimeout' });
    await impatient.close();
  });

  it('lose an expired lock: the receiver is told and the messages go to the next one, counted', async () => {
    await send('expiring', ['s', 'a']);
    const session = await running.client.acceptSession('expiring', 's', { maxAutoLockRenewalDurationInMs: 0 });
    const message = await receiveOne(session);
    await eventually(() =>
      expect(running.bus.console.entities().find(({ name }) => name === 'expiring')).toMatchObject({ depth: 1 }),
    );
    await eventually(() => expect(session.isClosed).toBe(true));
    await expect(session.completeMessage(message)).rejects.toMatchObject({ code: 'SessionLockLost' });
    const next = await running.client.acceptNextSession('expiring');
    const again = await receiveOne(next);
    expect(again.deliveryCount).toBe(1);
    await next.completeMessage(again);
    await next.close();
  });

  it('return unsettled messages when their receiver closes', async () => {
    await send('jobs', ['s', 'a'], ['s', 'b']);
    const session = await running.client.acceptNextSession('jobs');
    await receive(session, 1);
    await session.close();
    const next = await running.client.acceptNextSession('jobs');
    expect(await drain(next, 2)).toEqual(['a', 'b']);
    await next.close();
  });

  it('push their messages in order to subscribe', async () => {
    const bodies = Array.from({ length: 20 }, (_, index) => `m${index}`);
    await send('ordered', ...bodies.map((body) => ['sub', body] as const));
    const session = await running.client.acceptSession('ordered', 'sub');
    const seen: string[] = [];
    session.subscribe({
      processMessage: (message) => {
        seen.push(message.body as string);
        return Promise.resolve();
      },
      processError: ({ error }) => Promise.reject(error),
    });
    await eventually(() => expect(seen).toEqual(bodies));
    await session.close();
  });
});
