import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  AccountSASPermissions,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { queueReaders } from '../queue/observations.js';
import { storageConnection } from '../storage/storage-connection.js';
import { openBlobStore } from '../store/blob-trigger-store.js';
import { azuriteConnectionString, startAzurite, type Azurite } from '../testing/azurite.js';
import { startBlobVictim } from '../testing/victims.js';
import { triggerListenerContract } from '../testing/trigger-listener-contract.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import { AzureBlobAccount } from './azure-blob-account.js';
import { BlobBench } from './blob-bench.test.fixture.js';
import { readBlobInput } from './blob-input.js';
import type { BlobListener } from './blob-listener.js';
import { parseBlobMessage } from './blob-message.js';
import { blobBindingOptions } from './blob-options.js';
import { ContentBudget } from './content-budget.js';
import { blobReaders } from './observations.js';
import { ScanOwnership } from './scan-ownership.js';
import { newVersions } from './scan-state.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite('all');
});
afterAll(() => azurite.stop());

triggerListenerContract('blobs of a container', async () => {
  const { connectionString } = azurite;
  const store = await openBlobStore(storeConnection(connectionString));
  const limits = { poisonBlobThreshold: 4, leaseDuration: '00:00:03' };
  const bench = new BlobBench(connectionString, limits, store);
  await bench.container.create(never);
  await bench.found.create(never);
  const written: string[] = [];
  return {
    maxDeliveries: 4,
    shortestDelayMs: 1_000,
    listener: (deliver) =>
      bench.listener((delivery, lost) => deliver({ ...delivery, data: String(delivery.data) }, lost)),
    async send(bodies) {
      await Promise.all(
        bodies.map((body) => {
          const name = randomUUID();
          written.push(name);
          return bench.write(name, body);
        }),
      );
    },
    async putAside() {
      const messages = await bench.poison.receive({ count: 32, leaseMs: 1_000 }, never).catch(() => []);
      const names = messages.flatMap(
        ({ text }) => parseBlobMessage(Buffer.from(text, 'base64').toString())?.name ?? [],
      );
      const own = names.filter((name) => written.includes(name));
      const contents = own.map(async (name) => {
        const blob = await bench.container.open(name, undefined, never);
        return Buffer.from(await blob.read()).toString();
      });
      return await Promise.all(contents);
    },
    remaining: () => remainingOf(bench),
    victim: () => {
      const { application, functionName, containerName } = bench;
      const binding = { path: `${containerName}/{name}`, scanInterval: '00:00:01', ...limits };
      return startBlobVictim({ connectionString, application, functionName, binding, settles: 'nothing' });
    },
    close: () => Promise.resolve(),
  };
});

function storeConnection(connectionString: string) {
  const settings = { AzureWebJobsStorage: connectionString };
  return storageConnection({ service: 'blob', functionName: 'test', connection: undefined, settings });
}

/** Versions that were not found, and those that wait or run. */
async function remainingOf(bench: BlobBench): Promise<number> {
  const { store, application, functionName, container } = bench;
  const states = new ScanOwnership({
    store,
    key: `blobs/${application}/${functionName}`,
    place: `${container.address}/`,
    owner: 'test',
    clock: { now: () => 0, monotonicMs: () => 0, after: () => () => undefined },
  });
  const [page, { state }, queued] = await Promise.all([
    container.list({ prefix: '', marker: undefined, count: 1_000 }, never),
    states.peek(never),
    bench.found.count(never),
  ]);
  return newVersions(state, page.blobs).length + queued;
}

describe('a blob listener at a real service', () => {
  const started: BlobListener[] = [];
  const listen = async (bench: BlobBench, deliver: Deliver): Promise<BlobListener> => {
    const listener = bench.listener(deliver);
    started.push(listener);
    await listener.start(never);
    return listener;
  };
  afterEach(async () => {
    await Promise.all(started.splice(0).map((listener) => listener.stop()));
  });

  it('hands over content, metadata and captures', async () => {
    const bench = new BlobBench(azurite.connectionString);
    const seen: Delivery[] = [];
    await listen(bench, async (delivery) => {
      seen.push(delivery);
      return complete;
    });
    await bench.write('ä b/1.png', 'content', 'image/png');
    await eventually(() => seen.length === 1);
    const path = `${bench.containerName}/ä b/1.png`;
    expect(seen[0]).toMatchObject({
      data: Buffer.from('content'),
      metadata: {
        BlobTrigger: path,
        Uri: `${bench.container.address}/${encodeURIComponent('ä b')}/1.png`,
        Properties: {
          BlobType: 0,
          ContentLength: 7,
          ContentType: 'image/png',
          ETag: expect.stringMatching(/^"0x/),
          LastModified: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/),
          LeaseState: 0,
          LeaseStatus: 1,
        },
        Metadata: {},
        name: 'ä b/1.png',
      },
      deliveryCount: 1,
    });
    expect(seen[0]?.id).toContain(path);
  });

  it('hands over large blobs as they are, several at a time', async () => {
    const bench = new BlobBench(azurite.connectionString);
    const contents = [3, 5].map((megabytes) => randomBytes(megabytes * 1_024 * 1_024));
    const seen: Uint8Array[] = [];
    await listen(bench, async ({ data }) => {
      seen.push(data as Uint8Array);
      return complete;
    });
    await Promise.all(contents.map((content, index) => bench.write(`large-${index}`, content)));
    await eventually(() => seen.length === 2);
    const sums = (all: readonly Uint8Array[]) =>
      all.map((bytes) => createHash('sha256').update(bytes).digest('hex')).toSorted();
    expect(sums(seen)).toEqual(sums(contents));
  });

  it('says once that access is denied, names the setting, and shows no key', async () => {
    const key = Buffer.from('another key').toString('base64');
    const bench = new BlobBench(azuriteConnectionString(azurite.urls, key));
    const listener = await listen(bench, async () => complete);
    await eventually(() => bench.kinds('blob.unavailable').length === 1);
    await eventually(() => bench.kinds('queue.unavailable').length === 1);
    for (const observation of bench.kinds('blob.unavailable', 'queue.unavailable')) {
      expect(observation).toMatchObject({ failure: 'denied' });
      const reader = { ...blobReaders, ...queueReaders }[observation.kind] as { say(o: unknown): string }; // of its kind
      expect(reader.say(observation)).toContain('check the key or signature in the setting Shop');
      expect(reader.say(observation)).not.toContain(key);
    }
    await expect(listener.measure(never)).rejects.toMatchObject({ code: 'BLOB_UNAVAILABLE' });
    await expect(bench.write('x', 'x')).rejects.toMatchObject({
      code: 'BLOB_UNAVAILABLE',
      message: expect.stringContaining('access is denied; check the key or signature in the setting Shop'),
    });
  });
});

describe('blob inputs and outputs at a real service', () => {
  const io = { clock: systemClock, randomness: systemRandomness, budget: new ContentBudget(), signal: never };
  const accountAt = (connectionString: string): AzureBlobAccount => {
    const settings = { Shop: connectionString };
    return new AzureBlobAccount(
      storageConnection({ service: 'blob', functionName: 'f', connection: 'Shop', settings }),
    );
  };
  const read = (path: string, options: object = {}, account = accountAt(azurite.connectionString)) =>
    readBlobInput({
      ...io,
      account,
      options: blobBindingOptions({ functionName: 'f', binding: { path, ...options } }, 'input', account.endpoint),
    });

  it('write text and bytes with their content type into a container that they create, and read them', async () => {
    const bench = new BlobBench(azurite.connectionString);
    const path = `${bench.containerName}/a/b.txt`;
    expect(await read(path)).toBeUndefined();
    await bench.write('a/b.txt', 'grüezi', 'text/plain; charset=utf-8');
    expect(bench.kinds('blob.container-created')).toHaveLength(1);
    expect(await read(path)).toEqual({ bytes: Buffer.from('grüezi') });
    expect(await read(path, { dataType: 'string' })).toEqual({ string: 'grüezi' });
    expect(await read(`${bench.account.endpoint}/${path}`)).toEqual({ bytes: Buffer.from('grüezi') });
    expect(await read(`${bench.containerName}/none`)).toBeUndefined();
    const { properties } = await bench.container.open('a/b.txt', undefined, never);
    expect(properties).toMatchObject({ ContentType: 'text/plain; charset=utf-8' });
    await bench.write('a/b.txt', Uint8Array.of(0, 255));
    expect(await read(path)).toEqual({ bytes: Buffer.from([0, 255]) });
    await bench.write('empty', '');
    expect(await read(`${bench.containerName}/empty`)).toEqual({ bytes: Buffer.alloc(0) });
  });

  it('read with a shared access signature', async () => {
    const bench = new BlobBench(azurite.connectionString);
    await bench.write('signed', 'yes');
    const key = /AccountKey=([^;]+)/.exec(azurite.connectionString)?.[1] ?? '';
    const signature = generateAccountSASQueryParameters(
      {
        expiresOn: new Date(Date.now() + 3_600_000),
        permissions: AccountSASPermissions.parse('rl'),
        services: 'b',
        resourceTypes: 'sco',
        version: '2022-11-02',
      },
      new StorageSharedKeyCredential('devstoreaccount1', key),
    ).toString();
    const address = `${azurite.urls.blob}/devstoreaccount1`;
    const signed = accountAt(`BlobEndpoint=${address};SharedAccessSignature=${signature}`);
    expect(await read(`${bench.containerName}/signed`, {}, signed)).toEqual({ bytes: Buffer.from('yes') });
  });
});
