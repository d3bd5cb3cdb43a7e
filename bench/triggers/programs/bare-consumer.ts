import { earliestEventPosition, EventHubConsumerClient } from '@azure/event-hubs';
import { ServiceBusClient } from '@azure/service-bus';
import { QueueServiceClient } from '@azure/storage-queue';
import { sharedNowMs } from '../../harness/clock.js';
import { serveRequests } from '../../harness/program.js';
import type { TriggerKind } from '../trigger-kinds.js';
import { BlobCheckpoints } from './blob-checkpoints.js';

export interface ConsumeRequest {
  readonly kind: TriggerKind;
  readonly connectionString: string;
  /** Connection string of the storage account, for the checkpoints of events; undefined: none are written. */
  readonly checkpoints?: string;
  readonly entity: string;
  readonly count: number;
}

export interface ConsumeAnswer {
  readonly fromMs: number;
  readonly toMs: number;
}

type Consume = (request: ConsumeRequest, onMessages: (count: number) => void) => Promise<void>;

/** As many as a function of the default options has in flight. */
const atOnce = 16;
const largestBatch = 250;

const consumeQueue: Consume = async ({ connectionString, entity, count }, onMessages) => {
  const queue = QueueServiceClient.fromConnectionString(connectionString).getQueueClient(entity);
  const left = { count };
  const loop = async (): Promise<void> => {
    while (left.count > 0) {
      const { receivedMessageItems } = await queue.receiveMessages({
        numberOfMessages: atOnce,
        visibilityTimeout: 600,
      });
      await Promise.all(
        receivedMessageItems.map(async ({ messageId, popReceipt }) => {
          await queue.deleteMessage(messageId, popReceipt);
          left.count -= 1;
          onMessages(1);
        }),
      );
    }
  };
  await Promise.all([loop(), loop()]);
};

const consumeBus =
  (size: number): Consume =>
  async ({ connectionString, entity, count }, onMessages) => {
    const client = new ServiceBusClient(connectionString);
    const receiver = client.createReceiver(entity);
    let left = count;
    while (left > 0) {
      const messages = await receiver.receiveMessages(size, { maxWaitTimeInMs: 500 });
      await Promise.all(messages.map((message) => receiver.completeMessage(message)));
      left -= messages.length;
      onMessages(messages.length);
    }
    await client.close();
  };

const consumeHub =
  (maxBatchSize: number): Consume =>
  async ({ connectionString, checkpoints, entity, count }, onMessages) => {
    const store = checkpoints === undefined ? undefined : new BlobCheckpoints(checkpoints);
    await store?.create();
    const client = store
      ? new EventHubConsumerClient('$Default', connectionString, entity, store)
      : new EventHubConsumerClient('$Default', connectionString, entity);
    let left = count;
    await new Promise<void>((resolve, reject) => {
      client.subscribe(
        {
          processEvents: async (events, context) => {
            const last = events.at(-1);
            if (store && last) await context.updateCheckpoint(last);
            left -= events.length;
            onMessages(events.length);
            if (left <= 0) resolve();
          },
          processError: async (error) => reject(error),
        },
        { maxBatchSize, maxWaitTimeInSeconds: 1, startPosition: earliestEventPosition },
      );
    });
    await client.close();
  };

const consumers: Readonly<Record<TriggerKind, Consume>> = {
  queue: consumeQueue,
  'service-bus': consumeBus(atOnce * 4),
  'service-bus-many': consumeBus(largestBatch),
  'event-hub': consumeHub(largestBatch),
  'event-hub-many': consumeHub(largestBatch),
};

/** The loop that a developer writes with the SDK alone: receive, do nothing, settle. */
serveRequests<ConsumeRequest>(async (request): Promise<ConsumeAnswer> => {
  let fromMs = 0;
  let toMs = 0;
  await consumers[request.kind](request, () => {
    toMs = sharedNowMs();
    fromMs ||= toMs;
  });
  return { fromMs, toMs };
});
