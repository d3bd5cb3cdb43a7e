import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { LockedMessages } from '../locked-messages.js';
import { SourceWakeups } from '../source-wakeups.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import { blobExtension } from './blob-extension.js';

const key = Buffer.from('key').toString('base64');
const account = (name: string): string => `AccountName=${name};AccountKey=${key}`;

const post = (headers: Record<string, string>, body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(body)),
});

describe('the webhook of blob triggers', () => {
  const wakeups = new SourceWakeups();
  const extension = blobExtension.create({
    application: 'app',
    settings: { AzureWebJobsStorage: account('host') },
    host: { blobs: {} },
    cores: 1,
    clock: new FakeClock(),
    randomness: seededRandomness(1),
    observe: () => undefined,
    wakeups,
    lockedMessages: new LockedMessages(),
    store: new MemoryTriggerStore(),
  });
  for (const [functionName, source] of [
    ['Resize', 'EventGrid'],
    ['scans', 'LogsAndContainerScan'],
  ] as const)
    extension
      .prepare?.({ functionName, type: 'blobTrigger', options: { path: 'box/{name}.png', source } })
      .listen(() => Promise.resolve({ kind: 'complete' }));
  const serve = (request: ReturnType<typeof post>) =>
    extension.webhook?.serve('resize', request, new AbortController().signal);
  const subject = (path: string): string => `/blobServices/default/containers/${path}`;

  it('is that of triggers with the source EventGrid alone', () => {
    expect(['resize', 'RESIZE', 'scans', 'other'].map((name) => extension.webhook?.has(name))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(blobExtension.isPushed?.({ source: 'EventGrid' })).toBe(true);
    expect(blobExtension.isPushed?.({})).toBe(false);
  });

  it('answers both handshakes', async () => {
    const validation = [
      { eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent', data: { validationCode: 'c' } },
    ];
    expect(await serve(post({ 'aeg-event-type': 'SubscriptionValidation' }, validation))).toEqual({
      status: 200,
      body: { validationResponse: 'c' },
    });
    const options = { method: 'OPTIONS', headers: { 'webhook-request-origin': 'azure' }, body: Buffer.alloc(0) };
    expect(await extension.webhook?.serve('resize', options, new AbortController().signal)).toMatchObject({
      status: 200,
      headers: { 'webhook-allowed-origin': 'azure' },
    });
    expect(await serve(post({}, []))).toMatchObject({ status: 400 });
  });

  it('scans the container for a written blob of its path, in both schemas, and for nothing else', async () => {
    let scans = 0;
    const stop = wakeups.listen('https://host.blob.core.windows.net/box', () => (scans += 1));
    const grid = (eventType: string, path: string): Promise<unknown> | undefined =>
      serve(post({ 'aeg-event-type': 'Notification' }, [{ eventType, subject: subject(path), data: {} }]));
    await grid('Microsoft.Storage.BlobDeleted', 'box/blobs/a.png');
    await grid('Microsoft.Storage.BlobCreated', 'other/blobs/a.png');
    await grid('Microsoft.Storage.BlobCreated', 'box/blobs/a.txt');
    await grid('Microsoft.Storage.BlobCreated', 'box');
    expect(scans).toBe(0);
    expect(await grid('Microsoft.Storage.BlobCreated', 'box/blobs/folder/a.png')).toEqual({ status: 202 });
    expect(scans).toBe(1);
    const type = 'Microsoft.Storage.BlobCreated';
    const cloud = { specversion: '1.0', id: '1', source: 's', type, subject: subject('box/blobs/b.png') };
    expect(await serve(post({ 'content-type': 'application/cloudevents+json' }, cloud))).toEqual({ status: 202 });
    expect(scans).toBe(2);
    stop();
  });
});

function listen(settings: Readonly<Record<string, string>>, connection?: string): () => unknown {
  const extension = blobExtension.create({
    application: 'app',
    settings,
    host: { blobs: {} },
    cores: 1,
    clock: new FakeClock(),
    randomness: seededRandomness(1),
    observe: () => undefined,
    wakeups: new SourceWakeups(),
    lockedMessages: new LockedMessages(),
    store: new MemoryTriggerStore(),
  });
  const options = { path: 'box/{name}', ...(connection !== undefined && { connection }) };
  const prepared = extension.prepare?.({ functionName: 'resize', type: 'blobTrigger', options });
  return () => prepared?.listen(() => Promise.resolve({ kind: 'complete' }));
}

describe('the connections of a blob trigger', () => {
  const signed = 'https://shop.blob.core.windows.net?sig=1';
  it.each([
    ['the account of the runtime', { AzureWebJobsStorage: account('host') }, undefined],
    ['an account of its own, with queues', { AzureWebJobsStorage: account('host'), Shop: account('shop') }, 'Shop'],
    ['an account of its own alone', { Shop: account('shop') }, 'Shop'],
    ['blobs without queues', { AzureWebJobsStorage: account('host'), Shop__blobServiceUri: signed }, 'Shop'],
  ])('may be %s', (_, settings, connection) => {
    expect(listen(settings, connection)).not.toThrow();
  });

  it.each([
    [{}, undefined, 'the connection setting AzureWebJobsStorage does not exist'],
    [{ AzureWebJobsStorage: account('host') }, 'Shop', 'the connection setting Shop does not exist'],
    [{ Shop__blobServiceUri: signed }, 'Shop', 'Shop has no address of the queue service. Set Shop__queueServiceUri'],
  ])('are refused with the setting that is missing: %j', (settings, connection, problem) => {
    expect(listen(settings, connection)).toThrow(problem);
  });
});
