import { QueueServiceClient, RestError, StorageSharedKeyCredential, type QueueClient } from '@azure/storage-queue';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAzuriteProcess, type AzuriteProcess } from '../azurite/azurite-process.js';
import { developmentAccount } from './authorize.js';
import { QueueService } from './queue-service.js';

interface Handle {
  readonly id: string;
  readonly receipt: string;
}

/** One service in a run: its queue, and every handle that it gave out, in order. */
interface Side {
  readonly queue: QueueClient;
  readonly handles: Handle[];
}

const step = fc.record({
  act: fc.constantFrom(
    'send',
    'send',
    'send',
    'receive',
    'receive',
    'peek',
    'update',
    'update',
    'delete',
    'delete',
    'count',
    'clear',
  ),
  count: fc.integer({ min: 1, max: 4 }),
  text: fc.constantFrom('', 'a', '<b>&amp;</b>', 'ü🙂', 'x'.repeat(65_536), 'x'.repeat(65_537)),
  /** Hidden for a minute or not at all: times in between would make the order of answers a matter of speed. */
  isHidden: fc.boolean(),
  handle: fc.nat(100),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Does a step and returns what a client can see of it, without ids and times. */
async function perform({ queue, handles }: Side, { act, count, text, isHidden, handle }: Step): Promise<unknown> {
  const { id = 'none', receipt = 'none' } = handles[handle % Math.max(1, handles.length)] ?? {};
  const hiddenSeconds = isHidden ? 60 : 0;
  const see = (items: readonly { readonly messageText: string; readonly dequeueCount: number }[]) =>
    items.map(({ messageText, dequeueCount }) => [messageText, dequeueCount]);
  switch (act) {
    case 'send': {
      const sent = await queue.sendMessage(text, { visibilityTimeout: hiddenSeconds });
      handles.push({ id: sent.messageId, receipt: sent.popReceipt });
      return 'sent';
    }
    case 'receive': {
      const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: count, visibilityTimeout: 60 });
      handles.push(
        ...receivedMessageItems.map(({ messageId, popReceipt }) => ({ id: messageId, receipt: popReceipt })),
      );
      return see(receivedMessageItems);
    }
    case 'peek':
      return see((await queue.peekMessages({ numberOfMessages: count })).peekedMessageItems);
    case 'update': {
      const { popReceipt = '' } = await queue.updateMessage(id, receipt, count % 2 ? text : undefined, hiddenSeconds);
      handles.push({ id, receipt: popReceipt });
      return 'updated';
    }
    case 'delete':
      await queue.deleteMessage(id, receipt);
      return 'deleted';
    case 'count':
      return (await queue.getProperties()).approximateMessagesCount;
    case 'clear':
      await queue.clearMessages();
      return 'cleared';
  }
}

const outcomeOf = (side: Side, one: Step): Promise<unknown> =>
  perform(side, one).catch((error: unknown) => (error instanceof RestError ? [error.statusCode, error.code] : error));

describe('our queue service and Azurite', () => {
  let ours: QueueService;
  let azurite: AzuriteProcess;
  beforeAll(async () => {
    [ours, azurite] = await Promise.all([QueueService.start(), startAzuriteProcess('queue', undefined)]);
  });
  afterAll(() => Promise.all([ours.stop(), azurite.stop()]));

  it('give the same answers to any sequence of requests', async () => {
    const key = new StorageSharedKeyCredential(developmentAccount.name, developmentAccount.key);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        runs += 1;
        const sides = await Promise.all(
          [ours.port, azurite.port].map(async (port): Promise<Side> => {
            const account = new QueueServiceClient(`http://127.0.0.1:${port}/${developmentAccount.name}`, key);
            const queue = account.getQueueClient(`run-${runs}`);
            await queue.create();
            return { queue, handles: [] };
          }),
        );
        for (const [index, one] of steps.entries()) {
          const [mine, theirs] = await Promise.all(sides.map((side) => outcomeOf(side, one)));
          expect(mine, `step ${index}: ${one.act}`).toEqual(theirs);
          // Azurite tells receipts and arrivals apart by the millisecond.
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
      }),
      { numRuns: 8 },
    );
  });
});
