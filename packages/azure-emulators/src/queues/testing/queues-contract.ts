import { QueueServiceClient, StorageSharedKeyCredential, type QueueClient } from '@azure/storage-queue';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { developmentAccount } from '../authorize.js';
import { sharedAccessContract } from './shared-access-contract.js';

/** A running queue service. */
export interface QueuesUnderTest {
  /** URL with the account, without a slash at its end. */
  readonly url: string;
  /** Azurite refuses numbers below a minimum without a code. */
  readonly namesMinima: boolean;
  stop(): Promise<void>;
}

export const sharedKey = new StorageSharedKeyCredential(developmentAccount.name, developmentAccount.key);

export const clientOf = (url: string, credential?: StorageSharedKeyCredential): QueueServiceClient =>
  new QueueServiceClient(url, credential, { retryOptions: { maxTries: 1 } });

export const failsWith = (statusCode: number, code: string) => ({ statusCode, code });

let names = 0;
export const newName = (): string => `queue-${process.pid}-${(names += 1)}`;

/** What every storage queue service does for the official SDK. */
export function queuesContract(service: string, start: () => Promise<QueuesUnderTest>): void {
  describe(`the queue service contract: ${service}`, () => {
    let tested: QueuesUnderTest;
    const client = (): QueueServiceClient => clientOf(tested.url, sharedKey);
    const newQueue = async (): Promise<QueueClient> => {
      const queue = client().getQueueClient(newName());
      await queue.create();
      return queue;
    };
    beforeAll(async () => {
      tested = await start();
    });
    afterAll(() => tested.stop());

    queueTests(client, newQueue);
    messageTests(newQueue);
    limitTests(client, newQueue, () => tested);
    serviceTests(client, () => tested.url);
    sharedAccessContract(newQueue, () => tested.url);
  });
}

function queueTests(client: () => QueueServiceClient, newQueue: () => Promise<QueueClient>): void {
  it('creates a queue once, and names a conflict of metadata', async () => {
    const queue = client().getQueueClient(newName());
    const { _response, requestId, clientRequestId, version, date } = await queue.create({ metadata: { team: 'a' } });
    expect(_response.status).toBe(201);
    expect(requestId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(clientRequestId).toBe(_response.request.headers.get('x-ms-client-request-id'));
    expect(version).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(Math.abs((date?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
    expect((await queue.create({ metadata: { TEAM: 'a' } }))._response.status).toBe(204);
    expect(await queue.createIfNotExists({ metadata: { team: 'a' } })).toMatchObject({ succeeded: false });
    await expect(queue.create({ metadata: { team: 'b' } })).rejects.toMatchObject(failsWith(409, 'QueueAlreadyExists'));
    await expect(queue.create()).rejects.toMatchObject(failsWith(409, 'QueueAlreadyExists'));
  });

  it('deletes a queue with its messages', async () => {
    const queue = await newQueue();
    await queue.sendMessage('x');
    await queue.delete();
    await expect(queue.getProperties()).rejects.toMatchObject(failsWith(404, 'QueueNotFound'));
    expect(await queue.deleteIfExists()).toMatchObject({ succeeded: false });
    await queue.create();
    expect((await queue.getProperties()).approximateMessagesCount).toBe(0);
  });

  it('lists queues by prefix, page by page, with metadata on demand', async () => {
    const prefix = newName();
    for (const suffix of ['a', 'b', 'c', 'd', 'e']) {
      await client().createQueue(`${prefix}-${suffix}`, { metadata: { suffix } });
    }
    const sizes: number[] = [];
    const found: string[] = [];
    for await (const page of client().listQueues({ prefix }).byPage({ maxPageSize: 2 })) {
      expect(page).toMatchObject({
        prefix,
        maxPageSize: 2,
        serviceEndpoint: expect.stringContaining('devstoreaccount1'),
      });
      const items = page.queueItems ?? [];
      sizes.push(items.length);
      found.push(...items.map(({ name }) => name.slice(-1)));
      expect(items.every(({ metadata }) => metadata === undefined)).toBe(true);
    }
    expect({ sizes, found }).toEqual({ sizes: [2, 2, 1], found: ['a', 'b', 'c', 'd', 'e'] });
    const withMetadata = [];
    for await (const { metadata } of client().listQueues({ prefix, includeMetadata: true }))
      withMetadata.push(metadata);
    expect(withMetadata).toEqual(['a', 'b', 'c', 'd', 'e'].map((suffix) => ({ suffix })));
  });

  it('replaces metadata', async () => {
    const queue = await newQueue();
    await queue.setMetadata({ one: '1', two: 'with space, comma & ampersand' });
    expect((await queue.getProperties()).metadata).toEqual({ one: '1', two: 'with space, comma & ampersand' });
    await queue.setMetadata({});
    expect((await queue.getProperties()).metadata).toEqual({});
  });

  it('stores access policies', async () => {
    const queue = await newQueue();
    expect((await queue.getAccessPolicy()).signedIdentifiers).toEqual([]);
    const policy = {
      id: 'reader <1>',
      accessPolicy: {
        startsOn: new Date('2020-01-01T00:00:00Z'),
        expiresOn: new Date('2099-01-01T00:00:00Z'),
        permissions: 'rp',
      },
    };
    await queue.setAccessPolicy([policy]);
    expect((await queue.getAccessPolicy()).signedIdentifiers).toEqual([policy]);
    const six = Array.from({ length: 6 }, (_, n) => ({ ...policy, id: `${n}` }));
    await expect(queue.setAccessPolicy(six)).rejects.toMatchObject(failsWith(400, 'InvalidXmlDocument'));
  });

  it('says for every operation that a queue does not exist', async () => {
    const queue = client().getQueueClient(newName());
    const all = [
      queue.delete(),
      queue.getProperties(),
      queue.setMetadata({ a: 'b' }),
      queue.getAccessPolicy(),
      queue.setAccessPolicy([]),
      queue.sendMessage('x'),
      queue.receiveMessages(),
      queue.peekMessages(),
      queue.clearMessages(),
      queue.updateMessage('id', 'receipt', 'x', 0),
      queue.deleteMessage('id', 'receipt'),
    ];
    for (const result of await Promise.allSettled(all)) {
      expect(result).toMatchObject({ status: 'rejected', reason: failsWith(404, 'QueueNotFound') });
    }
  });
}

function messageTests(newQueue: () => Promise<QueueClient>): void {
  it('gives back what was sent, in order', async () => {
    const queue = await newQueue();
    const texts = ['plain', '', ' <b>&amp; "quoted" \'</b> ]]> ', 'ü🙂\t end', 'eyJiYXNlIjo2NH0='];
    for (const text of texts) await queue.sendMessage(text);
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    expect(receivedMessageItems.map(({ messageText }) => messageText)).toEqual(texts);
    expect((await queue.receiveMessages()).receivedMessageItems).toEqual([]);
  });

  it('tells ids, receipts and times', async () => {
    const queue = await newQueue();
    const sent = await queue.sendMessage('x');
    expect(sent.messageId).toMatch(/^[0-9a-f-]{36}$/);
    expect(sent.expiresOn.getTime() - sent.insertedOn.getTime()).toBe(7 * 24 * 3_600_000);
    const { messageId, insertedOn, expiresOn } = sent;
    const [peeked] = (await queue.peekMessages()).peekedMessageItems;
    expect(peeked).toEqual({ messageId, insertedOn, expiresOn, dequeueCount: 0, messageText: 'x' });
    const [received] = (await queue.receiveMessages({ visibilityTimeout: 60 })).receivedMessageItems;
    expect(received).toMatchObject({ messageId, insertedOn, expiresOn, dequeueCount: 1, messageText: 'x' });
    expect(received?.popReceipt).not.toBe(sent.popReceipt);
    const hiddenMs = (received?.nextVisibleOn.getTime() ?? 0) - insertedOn.getTime();
    expect(hiddenMs).toBeGreaterThanOrEqual(60_000);
    expect(hiddenMs).toBeLessThan(90_000);
    expect((await queue.peekMessages()).peekedMessageItems).toEqual([]);
  });

  it('deletes with the receipt of a send, a receive or an update, and refuses older ones', async () => {
    const queue = await newQueue();
    const first = await queue.sendMessage('first');
    await queue.deleteMessage(first.messageId, first.popReceipt);
    await expect(queue.deleteMessage(first.messageId, first.popReceipt)).rejects.toMatchObject(
      failsWith(404, 'MessageNotFound'),
    );
    const { messageId } = await queue.sendMessage('second');
    const [received] = (await queue.receiveMessages()).receivedMessageItems;
    const old = received?.popReceipt ?? '';
    await new Promise((resolve) => setTimeout(resolve, 5)); // Azurite makes receipts of milliseconds
    const updated = await queue.updateMessage(messageId, old, 'changed <&>', 0);
    const mismatch = failsWith(400, 'PopReceiptMismatch');
    await expect(queue.deleteMessage(messageId, old)).rejects.toMatchObject(mismatch);
    await expect(queue.updateMessage(messageId, old, undefined, 1)).rejects.toMatchObject(mismatch);
    const [again] = (await queue.receiveMessages()).receivedMessageItems;
    expect(again).toMatchObject({ messageId, messageText: 'changed <&>', dequeueCount: 2 });
    await expect(queue.deleteMessage(messageId, updated.popReceipt ?? '')).rejects.toMatchObject(mismatch);
    await queue.deleteMessage(messageId, again?.popReceipt ?? '');
    expect((await queue.getProperties()).approximateMessagesCount).toBe(0);
  });

  it('keeps the text when an update brings none, and hides the message for its time', async () => {
    const queue = await newQueue();
    const { messageId, popReceipt } = await queue.sendMessage('kept');
    const updated = await queue.updateMessage(messageId, popReceipt, undefined, 1);
    expect(updated.nextVisibleOn?.getTime()).toBeGreaterThan(Date.now() - 2_000);
    expect((await queue.receiveMessages()).receivedMessageItems).toEqual([]);
    const received: unknown[] = [];
    await eventually(async () => received.push(...(await queue.receiveMessages()).receivedMessageItems) > 0);
    expect(received).toMatchObject([{ messageId, messageText: 'kept', dequeueCount: 1 }]);
  });

  it('hides a message until its delay is over, lets it expire, or keeps it for ever', async () => {
    const [delayed, brief, eternal] = await Promise.all([newQueue(), newQueue(), newQueue()]);
    await delayed.sendMessage('later', { visibilityTimeout: 1 });
    await brief.sendMessage('brief', { messageTimeToLive: 1 });
    const { expiresOn } = await eternal.sendMessage('for ever', { messageTimeToLive: -1 });
    expect(expiresOn.getUTCFullYear()).toBe(9999);
    expect((await delayed.peekMessages()).peekedMessageItems).toEqual([]);
    expect((await delayed.getProperties()).approximateMessagesCount).toBe(1);
    await eventually(async () => (await delayed.peekMessages()).peekedMessageItems.length === 1);
    await eventually(async () => (await brief.peekMessages()).peekedMessageItems.length === 0);
  });

  it('receives and peeks up to 32 messages in order, and clears the rest', async () => {
    const queue = await newQueue();
    for (let n = 0; n < 40; n += 1) await queue.sendMessage(`${n}`);
    const texts = (items: readonly { readonly messageText: string }[]): string[] =>
      items.map((item) => item.messageText);
    const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => `${from + n}`);
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
    expect(texts(peekedMessageItems)).toEqual(numbers(0, 32));
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    expect(texts(receivedMessageItems)).toEqual(numbers(0, 32));
    expect(texts((await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems)).toEqual(numbers(32, 40));
    expect((await queue.getProperties()).approximateMessagesCount).toBe(40);
    await queue.clearMessages();
    expect((await queue.getProperties()).approximateMessagesCount).toBe(0);
    const [first] = receivedMessageItems;
    const gone = queue.deleteMessage(first?.messageId ?? '', first?.popReceipt ?? '');
    await expect(gone).rejects.toMatchObject(failsWith(404, 'MessageNotFound'));
  });
}

function limitTests(
  client: () => QueueServiceClient,
  newQueue: () => Promise<QueueClient>,
  tested: () => QueuesUnderTest,
): void {
  it('takes 64 KiB of text, and not a byte more', async () => {
    const queue = await newQueue();
    const largest = '<'.repeat(65_535);
    await queue.sendMessage(`${largest}x`);
    const [received] = (await queue.receiveMessages()).receivedMessageItems;
    expect(received?.messageText).toBe(`${largest}x`);
    const tooLarge = failsWith(413, 'RequestBodyTooLarge');
    await expect(queue.sendMessage(`${largest}ü`)).rejects.toMatchObject(tooLarge);
    const { messageId = '', popReceipt = '' } = received ?? {};
    await expect(queue.updateMessage(messageId, popReceipt, 'x'.repeat(65_537), 0)).rejects.toMatchObject(tooLarge);
  });

  it('names parameters that are out of range', async () => {
    const queue = await newQueue();
    const { messageId, popReceipt } = await queue.sendMessage('x');
    const outOfRange = failsWith(400, 'OutOfRangeQueryParameterValue');
    const invalid = failsWith(400, 'InvalidQueryParameterValue');
    const cases: [() => Promise<unknown>, object][] = [
      [() => queue.receiveMessages({ numberOfMessages: 33 }), outOfRange],
      [() => queue.receiveMessages({ numberOfMessages: 0 }), outOfRange],
      [() => queue.receiveMessages({ visibilityTimeout: 0 }), outOfRange],
      [() => queue.receiveMessages({ visibilityTimeout: 604_801 }), outOfRange],
      [() => queue.peekMessages({ numberOfMessages: 33 }), outOfRange],
      [() => queue.sendMessage('x', { visibilityTimeout: 604_801 }), outOfRange],
      [() => queue.sendMessage('x', { messageTimeToLive: 0 }), invalid],
      [() => queue.sendMessage('x', { messageTimeToLive: 10, visibilityTimeout: 10 }), invalid],
      [() => queue.updateMessage(messageId, popReceipt, 'x', 604_801), outOfRange],
    ];
    for (const [call, failure] of cases)
      await expect(call()).rejects.toMatchObject(tested().namesMinima ? failure : { statusCode: 400 });
    expect((await queue.getProperties()).approximateMessagesCount).toBe(1);
  });

  it('names invalid queue names', async () => {
    const cases = {
      ab: 'OutOfRangeInput',
      Upper: 'InvalidResourceName',
      'a--b': 'InvalidResourceName',
      '-abc': 'InvalidResourceName',
    };
    for (const [name, code] of Object.entries({ ...cases, ['a'.repeat(64)]: 'OutOfRangeInput' })) {
      await expect(client().createQueue(name)).rejects.toMatchObject(failsWith(400, code));
    }
  });
}

function serviceTests(client: () => QueueServiceClient, url: () => string): void {
  it('stores the properties of the service', async () => {
    const initial = await client().getProperties();
    expect(initial).toMatchObject({ hourMetrics: { enabled: false }, minuteMetrics: { enabled: false } });
    const cors = [
      {
        allowedOrigins: 'https://example.com',
        allowedMethods: 'GET,PUT',
        allowedHeaders: 'x-ms-*',
        exposedHeaders: '*',
        maxAgeInSeconds: 60,
      },
    ];
    const hourMetrics = {
      version: '1.0',
      enabled: true,
      includeAPIs: true,
      retentionPolicy: { enabled: true, days: 3 },
    };
    await client().setProperties({ cors, hourMetrics });
    const changed = await client().getProperties();
    expect(changed).toMatchObject({ cors, hourMetrics, minuteMetrics: { enabled: false } });
    await client().setProperties({
      cors: [],
      hourMetrics: { ...hourMetrics, enabled: false, includeAPIs: undefined } as never,
    });
  });

  it('tells the state of replication on the secondary only', async () => {
    await expect(client().getStatistics()).rejects.toMatchObject(failsWith(400, 'InvalidQueryParameterValue'));
    const { geoReplication } = await clientOf(`${url()}-secondary`, sharedKey).getStatistics();
    expect(geoReplication?.status).toBe('live');
    expect(Math.abs((geoReplication?.lastSyncOn.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
  });
}
