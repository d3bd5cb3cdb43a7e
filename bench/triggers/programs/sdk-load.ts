import { EventHubConsumerClient, EventHubProducerClient, earliestEventPosition } from '@azure/event-hubs';
import { ServiceBusClient } from '@azure/service-bus';
import { sharedNowMs } from '../../harness/clock.js';
import { serveRequests } from '../../harness/program.js';

interface Common {
  readonly connectionString: string;
  /** Queue or hub; made on first use, another one in every round. */
  readonly entity: string;
  readonly count: number;
}

export type LoadRequest =
  | (Common & { readonly kind: 'service-bus' | 'send-events' })
  | (Common & { readonly kind: 'receive-events'; readonly partitions: readonly string[] });

/** When the work began and ended, on the clock that all processes share. */
export interface LoadAnswer {
  readonly startedMs: number;
  readonly endedMs: number;
}

const body = { id: 4711, customer: 'c-0815', total: 129.5, items: ['apple', 'pear'] };
const partitions = ['0', '1', '2', '3'];

async function timed(work: () => Promise<void>): Promise<LoadAnswer> {
  const startedMs = sharedNowMs();
  await work();
  return { startedMs, endedMs: sharedNowMs() };
}

/**
 * Two queues side by side, each with half of the messages: sent 500 at a time, then received 250 at a time and completed one by one.
 * One receiver per queue: of two, each would end with a batch that is not full, for which the SDK waits a second.
 */
async function serviceBus({ connectionString, entity, count }: Common): Promise<LoadAnswer> {
  const client = new ServiceBusClient(connectionString);
  const answer = await timed(async () => {
    await Promise.all([0, 1].map((index) => throughQueue(client, `${entity}-${index}`, count / 2)));
  });
  await client.close();
  return answer;
}

async function throughQueue(client: ServiceBusClient, queue: string, count: number): Promise<void> {
  const sender = client.createSender(queue);
  for (let sent = 0; sent < count; sent += 500) {
    const size = Math.min(500, count - sent);
    // An array, not a batch object: that needs a maximum size, which not every emulator announces.
    await sender.sendMessages(Array.from({ length: size }, (_, index) => ({ body, messageId: String(sent + index) })));
  }
  const receiver = client.createReceiver(queue);
  for (let received = 0; received < count; ) {
    const messages = await receiver.receiveMessages(250, { maxWaitTimeInMs: 500 });
    received += messages.length;
    await Promise.all(messages.map((message) => receiver.completeMessage(message)));
  }
}

/** Sends batches of 500 to each of four partitions, one after the other. */
async function sendEvents({ connectionString, entity, count }: Common): Promise<LoadAnswer> {
  const producer = new EventHubProducerClient(connectionString, entity);
  await producer.getPartitionIds(); // connected before the clock runs
  const answer = await timed(async () => {
    await Promise.all(
      partitions.map(async (partitionId) => {
        for (let sent = 0; sent < count / partitions.length; ) {
          const batch = await producer.createBatch({ partitionId });
          while (batch.count < 500 && sent < count / partitions.length && batch.tryAdd({ body })) sent += 1;
          await producer.sendBatch(batch);
        }
      }),
    );
  });
  await producer.close();
  return answer;
}

/** Receives the events of some partitions; the clock runs from the first batch on. */
async function receiveEvents(request: Common & { readonly partitions: readonly string[] }): Promise<LoadAnswer> {
  const consumer = new EventHubConsumerClient('$Default', request.connectionString, request.entity);
  let startedMs: number | undefined;
  let received = 0;
  await new Promise<void>((resolve, reject) => {
    for (const partition of request.partitions) {
      const handlers = {
        processEvents: (events: readonly unknown[]): Promise<void> => {
          startedMs ??= sharedNowMs();
          received += events.length;
          if (received >= request.count) resolve();
          return Promise.resolve();
        },
        processError: async (error: Error): Promise<void> => reject(error),
      };
      consumer.subscribe(partition, handlers, { startPosition: earliestEventPosition, maxBatchSize: 1000 });
    }
  });
  const endedMs = sharedNowMs();
  await consumer.close();
  return { startedMs: startedMs ?? endedMs, endedMs };
}

serveRequests<LoadRequest>((request) => {
  switch (request.kind) {
    case 'service-bus':
      return serviceBus(request);
    case 'send-events':
      return sendEvents(request);
    case 'receive-events':
      return receiveEvents(request);
  }
});
