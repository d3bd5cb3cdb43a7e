import { randomUUID } from 'node:crypto';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { storageConnection } from '../storage/storage-connection.js';
import { openBlobStore } from '../store/blob-trigger-store.js';
import { startAzurite, type Azurite } from '../testing/azurite.js';
import { startBlobVictim } from '../testing/blob-victim.js';
import { triggerListenerContract } from '../testing/trigger-listener-contract.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import { BlobBench } from './blob-bench.test.fixture.js';
import type { BlobListener } from './blob-listener.js';
import { parseBlobMessage } from './blob-message.js';
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
  const [page, state, queued] = await Promise.all([
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
});
