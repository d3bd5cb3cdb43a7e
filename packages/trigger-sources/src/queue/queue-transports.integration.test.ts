import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  generateAccountSASQueryParameters,
  AccountSASPermissions,
  StorageSharedKeyCredential,
} from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storageConnection, type StorageConnection } from '../storage/storage-connection.js';
import { azuriteConnectionString, startAzurite, type Azurite } from '../testing/azurite.js';
import { AzureQueueAccount } from './azure-storage-queue.js';
import { failureOf, type StorageQueue } from './storage-queue.js';

const never = new AbortController().signal;
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

const connect = (connectionString: string): StorageConnection =>
  storageConnection({ service: 'queue', functionName: 'f', connection: 'X', settings: { X: connectionString } });

/** A signature instead of the key. */
function signed(url: string): string {
  const [, key = ''] = /AccountKey=([^;]+)/.exec(azurite.connectionString) ?? [];
  const values = {
    permissions: AccountSASPermissions.parse('rwdlacup'),
    services: 'q',
    resourceTypes: 'sco',
    expiresOn: new Date(Date.now() + 3_600_000),
  };
  const sas = generateAccountSASQueryParameters(values, new StorageSharedKeyCredential('devstoreaccount1', key));
  return `QueueEndpoint=${url}/devstoreaccount1;SharedAccessSignature=${sas.toString()}`;
}

/** A proxy setting selects the SDK, which reads the real one from the environment: there is none here. */
const viaSdk = { HTTPS_PROXY: 'http://proxy.example' };

describe.each([
  ['bare requests', {}, false],
  ['bare requests with a signature', {}, true],
  ['the SDK', viaSdk, false],
  ['the SDK with a signature', viaSdk, true],
])('a storage queue by %s', (how, settings, isSigned) => {
  const queue = (name = `q-${how.replaceAll(' ', '-').toLowerCase()}`): StorageQueue =>
    new AzureQueueAccount(connect(isSigned ? signed(azurite.url) : azurite.connectionString), settings).queue(name);

  it('sends, receives, hides and removes messages', async () => {
    const tested = queue();
    await tested.create(never);
    await tested.create(never);
    const texts = ['<a & "b">', '', 'aGVsbG8=', 'ü🙂 &amp;', ' space '];
    for (const text of texts) await tested.send(text, { keep: 'by-default' }, never);
    await tested.send('for ever', { keep: 'for-ever' }, never);
    expect(await tested.count(never)).toBe(6);
    expect((await tested.peek(never))?.insertedOn.getTime()).toBeGreaterThan(Date.now() - 60_000);
    const received = await tested.receive({ count: 32, leaseMs: 59_001 }, never);
    expect(received.map(({ text }) => text)).toEqual([...texts, 'for ever']);
    expect(received.at(-1)?.expiresOn.getUTCFullYear()).toBe(9999);
    const [first] = received;
    if (!first) throw new Error('received above');
    expect(first).toMatchObject({ dequeueCount: 1, id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(first.nextVisibleOn.getTime() - first.insertedOn.getTime()).toBeGreaterThanOrEqual(60_000);
    expect(await tested.peek(never)).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 5)); // receipts of Azurite are made of milliseconds
    const hidden = await tested.hide(first, 0, never);
    expect(failureOf(await tested.remove(first, never).catch((error: unknown) => error))).toBe('receipt-outdated');
    await tested.remove(hidden, never);
    expect(failureOf(await tested.remove(hidden, never).catch((error: unknown) => error))).toBe('message-gone');
    expect(await tested.count(never)).toBe(5);
  });

  it('tells failures apart', async () => {
    const missing = queue('missing');
    for (const call of [
      missing.receive({ count: 1, leaseMs: 1_000 }, never),
      missing.send('x', { keep: 'by-default' }, never),
    ]) {
      expect(failureOf(await call.catch((error: unknown) => error))).toBe('queue-missing');
    }
    const tooLarge = await queue()
      .send('x'.repeat(70_000), { keep: 'by-default' }, never)
      .catch((error: unknown) => error);
    expect(failureOf(tooLarge)).toBe('refused');
    const wrong = azuriteConnectionString(azurite.url, Buffer.from('another').toString('base64'));
    const denied = await new AzureQueueAccount(connect(wrong), settings)
      .queue('xyz')
      .count(never)
      .catch((e: unknown) => e);
    expect(failureOf(denied)).toBe('denied');
    expect(denied).toMatchObject({ code: 'AuthenticationFailed', statusCode: 403 });
  });

  it.each<[string, RequestListener]>([
    ['garbage', (_, response) => response.end('<html>Welcome</html>')],
    ['nothing', (_, response) => response.destroy()],
    [
      'half an answer',
      (_, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('<Queue', () => response.destroy());
      },
    ],
    ['an error of a proxy', (_, response) => response.writeHead(502).end('bad gateway')],
  ])('is unavailable when the service answers with %s', async (_what, answer) => {
    await withServer(answer, async (url) => {
      const tested = new AzureQueueAccount(connect(azuriteConnectionString(url)), settings).queue('xyz');
      const error: unknown = await tested.receive({ count: 1, leaseMs: 1_000 }, never).then(
        (messages) => messages,
        (failure: unknown) => failure,
      );
      // The SDK takes garbage for an empty queue.
      if (!Array.isArray(error)) expect(failureOf(error)).toBe('unavailable');
      else expect({ how, error }).toEqual({ how: expect.stringContaining('SDK'), error: [] });
    });
  });

  it('ends with the reason of its signal when the service hangs', () =>
    withServer(
      () => undefined,
      async (url) => {
        const tested = new AzureQueueAccount(connect(azuriteConnectionString(url)), settings).queue('xyz');
        const abort = new AbortController();
        const call = tested.receive({ count: 1, leaseMs: 1_000 }, abort.signal);
        setTimeout(() => abort.abort(new Error('deadline passed')), 50);
        await expect(call).rejects.toThrow('deadline passed');
        await expect(tested.count(abort.signal)).rejects.toThrow('deadline passed');
      },
    ));
});

async function withServer(answer: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`); // it listens on TCP
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
