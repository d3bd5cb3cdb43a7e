import { ServiceBusClient } from '@azure/service-bus';
import { startEmulators, type Emulators } from '@drover/azure-emulators';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, startRuntime, type Runtime } from '../support/functions.js';

describe('functions that settle their Service Bus messages themselves', () => {
  let emulators: Emulators;
  let runtime: Runtime;
  let client: ServiceBusClient;

  beforeAll(async () => {
    emulators = await startEmulators({
      ports: { amqp: 0 },
      entities: {
        queues: [{ name: 'by-hand' }, { name: 'of-sdk' }, { name: 'counted', requiresSession: true }],
        topics: [],
        eventHubs: [],
        storageQueues: [],
      },
    });
    const connectionString = emulators.connectionStrings.serviceBus ?? '';
    runtime = await startRuntime({ apps: [app('settling')], env: { ServiceBus: connectionString } });
    client = new ServiceBusClient(connectionString);
  });
  afterAll(async () => {
    await runtime.stop(); // first: it is a process, which must not outlive a failed start of the others
    await client.close();
    await emulators.stop();
  });

  const said = (text: string): number => runtime.log.filter(({ msg }) => msg.includes(text)).length;

  it('get what an extension creates messages of the SDK from, and settle those', async () => {
    await client.createSender('of-sdk').sendMessages({ body: { a: 1 }, messageId: 'm-1' });
    await eventually(() => said('completed m-1') === 1);
    expect(said('read m-1 with {"a":1}')).toBe(1);
    expect(await client.createReceiver('of-sdk').peekMessages(10)).toEqual([]);
  });

  it('complete, abandon, defer, dead-letter and renew them', async () => {
    const actions = ['abandon-once', 'dead-letter', 'defer', 'renew-and-complete', 'complete-twice'];
    await client.createSender('by-hand').sendMessages(actions.map((action) => ({ body: { action } })));
    await eventually(() => said('saw abandon-once') === 2);
    await eventually(() => said('second: Complete: gRPC status 5') === 1); // NOT_FOUND: it is settled already
    const dead = client.createReceiver('by-hand', { subQueueType: 'deadLetter' });
    const [letter] = await dead.receiveMessages(1);
    expect(letter).toMatchObject({
      body: { action: 'dead-letter' },
      deadLetterReason: 'spoilt',
      deadLetterErrorDescription: 'it smells',
    });
    await eventually(async () => {
      // A client remembers for all its receivers how far it has peeked.
      const fresh = new ServiceBusClient(emulators.connectionStrings.serviceBus ?? '');
      const rest = await fresh.createReceiver('by-hand').peekMessages(10);
      await fresh.close();
      expect(rest.map(({ body, state }) => [(body as { action: string }).action, state])).toEqual([
        ['defer', 'deferred'],
      ]);
    });
    for (const action of actions.slice(1)) expect(said(`saw ${action}`)).toBe(1);
  });

  it('read and write the state of the session of a message', async () => {
    const messages = ['a', 'b', 'c'].map((body) => ({ body, sessionId: 'cart-1' }));
    await client.createSender('counted').sendMessages(messages);
    await eventually(() => expect(said('session cart-1: abc')).toBe(1));
  });
});
