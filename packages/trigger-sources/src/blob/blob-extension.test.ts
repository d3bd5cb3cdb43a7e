import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { LockedMessages } from '../locked-messages.js';
import { SourceWakeups } from '../source-wakeups.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import { blobExtension } from './blob-extension.js';

const key = Buffer.from('key').toString('base64');
const account = (name: string): string => `AccountName=${name};AccountKey=${key}`;

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
