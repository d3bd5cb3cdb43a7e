import { BlobServiceClient } from '@azure/storage-blob';
import { eventually } from '@drover/testkit';
import { azuriteConnectionString, FaultyProxy, startAzurite, type Azurite } from '@drover/trigger-sources/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, withRuntime } from '../support/functions.js';

describe('drover-runtime with a storage account that does not do its part', () => {
  let azurite: Azurite;
  beforeAll(async () => {
    azurite = await startAzurite('all', ['--skipApiVersionCheck']); // the SDK of this test is newer
    const blobs = BlobServiceClient.fromConnectionString(azurite.connectionString);
    await Promise.all(['incoming', 'copies'].map((name) => blobs.createContainer(name)));
  });
  afterAll(() => azurite.stop());

  it('says once per function that the key is wrong, in which setting, and shows no key', async () => {
    const blobTriggers = 5; // of the app
    const key = Buffer.from('not the key of this account').toString('base64');
    const Shop = azuriteConnectionString(azurite.urls, key);
    const env = { AzureWebJobsStorage: azurite.connectionString, Shop };
    await withRuntime({ apps: [app('storage')], env }, async (runtime) => {
      const denied = () => runtime.log.filter(({ kind }) => kind === 'blob.unavailable');
      await eventually(() => expect(denied()).toHaveLength(blobTriggers));
      for (const { msg, level } of denied()) {
        expect(level).toBe('warn');
        expect(msg).toContain('access is denied; check the key or signature in the setting Shop');
      }
      const answer = await runtime.call('/api/photo/a.txt');
      expect(answer.status).toBe(503);
      // An input is read again by the next request, and the listeners have not given up nor complained again.
      await eventually(() =>
        expect(runtime.said).toContain('Blob copies/a.txt is unavailable (read): access is denied'),
      );
      expect(denied()).toHaveLength(blobTriggers);
      expect([...runtime.child.stdout, ...runtime.child.stderr].join('\n')).not.toContain(key);
    });
  });

  it('waits for an account that is down at the start and goes down later, and goes on by itself', async () => {
    const proxies = {
      blob: new FaultyProxy(azurite.urls.blob ?? ''),
      queue: new FaultyProxy(azurite.url),
    };
    const fail = (fault: 'refuse' | 'pass'): void => {
      for (const proxy of Object.values(proxies)) proxy.fault = () => fault;
    };
    fail('refuse');
    const through = azuriteConnectionString({ blob: await proxies.blob.start(), queue: await proxies.queue.start() });
    const blobs = BlobServiceClient.fromConnectionString(azurite.connectionString);
    const put = (name: string) =>
      blobs.getContainerClient('incoming').getBlockBlobClient(name).upload(name, name.length);
    try {
      const env = { AzureWebJobsStorage: through, Shop: through };
      await withRuntime({ apps: [app('storage')], env }, async (runtime) => {
        const about = (kind: string) =>
          runtime.log.filter((line) => line.kind === kind && line['functionName'] === 'copy').length;
        await put('first.txt');
        await eventually(() => about('blob.unavailable') === 1);
        fail('pass');
        await eventually(() => expect(runtime.said).toContain('announce first-copy.txt: first.txt'));
        expect(about('blob.available')).toBe(1);
        fail('refuse');
        await put('second.txt');
        await eventually(() => about('blob.unavailable') === 2);
        fail('pass');
        await eventually(() => expect(runtime.said).toContain('announce second-copy.txt: second.txt'));
      });
    } finally {
      await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()));
    }
  });
});
