// Runs named checks with the SDKs beside this file and prints one line for each: `ok NAME`, or `failed NAME: REASON`.
import { randomUUID } from 'node:crypto';
import { EventHubConsumerClient, EventHubProducerClient, earliestEventPosition } from '@azure/event-hubs';
import { ServiceBusClient } from '@azure/service-bus';

const connection = process.env.SDK_CONNECTION_STRING ?? '';
const retryOptions = { maxRetries: 1, retryDelayInMs: 100, timeoutInMs: 20_000 };
const fresh = () => `javascript-${randomUUID().slice(0, 8)}`;
let failures = 0;

async function check(name, run) {
  try {
    await run();
    process.stdout.write(`ok ${name}\n`);
  } catch (error) {
    failures += 1;
    process.stdout.write(`failed ${name}: ${String(error).split('\n')[0]}\n`);
  }
}

function expect(holds, otherwise) {
  if (!holds) throw new Error(otherwise);
}

async function serviceBus() {
  const bus = new ServiceBusClient(connection, { retryOptions });
  const one = async (receiver) => {
    const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 20_000 });
    expect(message !== undefined, 'no message came');
    return message;
  };
  await check('send, receive and complete', async () => {
    const queue = fresh();
    await bus.createSender(queue).sendMessages({ body: 'hello', applicationProperties: { yes: true, half: 0.5 } });
    const receiver = bus.createReceiver(queue);
    const message = await one(receiver);
    expect(message.body === 'hello' && message.applicationProperties.yes === true, 'the message differs');
    await receiver.completeMessage(message);
  });
  await check('abandon, then dead-letter with a reason', async () => {
    const queue = fresh();
    await bus.createSender(queue).sendMessages({ body: 'x' });
    const receiver = bus.createReceiver(queue);
    await receiver.abandonMessage(await one(receiver));
    await receiver.deadLetterMessage(await one(receiver), { deadLetterReason: 'bad' });
    const dead = bus.createReceiver(queue, { subQueueType: 'deadLetter' });
    const letter = await one(dead);
    expect(letter.deadLetterReason === 'bad', `the reason is ${letter.deadLetterReason}`);
    await dead.completeMessage(letter);
  });
  await check('defer, receive deferred and complete', async () => {
    const queue = fresh();
    await bus.createSender(queue).sendMessages({ body: 'later' });
    const receiver = bus.createReceiver(queue);
    const message = await one(receiver);
    await receiver.deferMessage(message);
    const [deferred] = await receiver.receiveDeferredMessages(message.sequenceNumber);
    await receiver.completeMessage(deferred);
  });
  await check('sessions: order, state and lock', async () => {
    const queue = fresh();
    await (await bus.acceptSession(queue, 'warm')).close();
    await bus.createSender(queue).sendMessages({ body: 'x', sessionId: 's' });
    const receiver = await bus.acceptNextSession(queue);
    await receiver.setSessionState('half way');
    await receiver.renewSessionLock();
    await receiver.completeMessage(await one(receiver));
  });
  await bus.close();
}

async function eventHubs() {
  await check('properties of hub and partition', async () => {
    const producer = new EventHubProducerClient(connection, fresh(), { retryOptions });
    expect((await producer.getPartitionIds()).length > 0, 'no partitions');
    await producer.close();
  });
  await check('send a batch and receive it from the start', async () => {
    const hub = fresh();
    const producer = new EventHubProducerClient(connection, hub, { retryOptions });
    await producer.sendBatch([{ body: 'a', properties: { yes: true } }], { partitionId: '0' });
    await producer.close();
    const consumer = new EventHubConsumerClient('$Default', connection, hub, { retryOptions });
    const event = await new Promise((resolve, reject) => {
      consumer.subscribe(
        '0',
        { processEvents: async ([first]) => first && resolve(first), processError: async (error) => reject(error) },
        { startPosition: earliestEventPosition },
      );
    });
    expect(event.body === 'a' && event.properties.yes === true, 'the event differs');
    await consumer.close();
  });
}

await (process.argv[2] === 'service-bus' ? serviceBus() : eventHubs());
process.exit(failures > 0 ? 1 : 0);
