import { randomUUID } from 'node:crypto';
import { startEmulators, type Emulators } from '@drover/azure-emulators';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceWakeups } from '../source-wakeups.js';
import { storageConnection } from '../storage/storage-connection.js';
import { NotificationEndpoints, WorkSubscription } from '../watch/notification-endpoints.js';
import { AzureQueueAccount } from './azure-storage-queue.js';
import { watchedQueue } from './parked-queue.js';
import { QueueListener } from './queue-listener.js';
import { queueOptions } from './queue-options.js';

const functionName = 'process-order';
const never = new AbortController().signal;
let emulators: Emulators;
beforeAll(async () => {
  emulators = await startEmulators({ ports: { queue: 0 } });
});
afterAll(() => emulators.stop());

/** A listener whose time stands still: it polls once, and then only if it is told to. */
async function listenWithoutTime(queueName: string) {
  const settings = { AzureWebJobsStorage: emulators.connectionStrings.storage };
  const connection = storageConnection({ service: 'queue', functionName, connection: undefined, settings });
  const endpoints = new NotificationEndpoints({
    clock: systemClock,
    randomness: systemRandomness,
    observe: () => undefined,
  });
  const entity = watchedQueue(connection.endpoint, queueName);
  const account = new AzureQueueAccount(connection);
  await account.queue(queueName).create(never);
  const seen: string[] = [];
  const listener = new QueueListener({
    functionName,
    account,
    options: queueOptions({ functionName, host: {}, binding: { queueName }, cores: 1 }),
    deliver: async ({ data }) => {
      seen.push(String(data));
      return { kind: 'complete' };
    },
    wakeups: new SourceWakeups(),
    subscribe: entity && ((onWork) => new WorkSubscription(endpoints, entity, onWork)),
    clock: new FakeClock(),
    randomness: systemRandomness,
    observe: () => undefined,
  });
  await listener.start(never);
  return { listener, seen, send: (text: string) => account.queue(queueName).send(text, { keep: 'by-default' }, never) };
}

describe('a queue listener at an emulator of ours', () => {
  it('receives what another program sends without waiting for its next poll', async () => {
    const { listener, seen, send } = await listenWithoutTime(`orders-${randomUUID()}`);
    for (const text of ['first', 'second', 'third']) {
      await send(Buffer.from(text).toString('base64'));
      await eventually(() => expect(seen.at(-1)).toBe(text));
    }
    await listener.stop();
  });
});
