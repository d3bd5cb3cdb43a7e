import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { storageConnection } from '../storage/storage-connection.js';
import { openBlobStore } from '../store/blob-trigger-store.js';
import type { TriggerStore } from '../store/trigger-store.js';
import { azuriteConnectionString, startAzurite, type Azurite } from '../testing/azurite.js';
import { startBlobVictim } from '../testing/victims.js';
import { FaultyProxy, type ProxyFault } from '../testing/faulty-proxy.js';
import type { Deliver, Settlement } from '../trigger-source.js';
import { BlobBench } from './blob-bench.test.fixture.js';
import type { BlobListener } from './blob-listener.js';

const never = new AbortController().signal;
const complete: Settlement = { kind: 'complete' };
const bodies = (count: number): string[] => Array.from({ length: count }, (_, n) => `blob ${n + 1}`);
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite('all');
});
afterAll(() => azurite.stop());

function storeAt(connectionString: string): Promise<TriggerStore> {
  const settings = { AzureWebJobsStorage: connectionString };
  return openBlobStore(storageConnection({ service: 'blob', functionName: 'test', connection: undefined, settings }));
}

describe('a network that fails between a blob listener and its services', () => {
  let proxies: Readonly<Record<'blob' | 'queue', FaultyProxy>>;
  let bench: BlobBench;
  const started: BlobListener[] = [];
  const listen = async (deliver: Deliver): Promise<void> => {
    const listener = bench.listener(deliver);
    started.push(listener);
    await listener.start(never);
  };
  const counting = () => {
    const runs = new Map<string, number>();
    const deliver: Deliver = async ({ data }) => {
      runs.set(String(data), (runs.get(String(data)) ?? 0) + 1);
      return complete;
    };
    return { runs, deliver };
  };
  const write = async (texts: readonly string[]): Promise<void> => {
    const container = new BlobBench(azurite.connectionString).account.container(bench.containerName);
    await container.create(never);
    for (const text of texts) await container.upload(text, text, 'text/plain', never);
  };
  const fail = (fault: (request: string) => ProxyFault): void => {
    proxies.blob.fault = fault;
    proxies.queue.fault = fault;
  };

  beforeEach(async () => {
    proxies = { blob: new FaultyProxy(azurite.urls.blob ?? ''), queue: new FaultyProxy(azurite.url) };
    const through = azuriteConnectionString({ blob: await proxies.blob.start(), queue: await proxies.queue.start() });
    const limits = { leaseDuration: '00:00:02', poisonBlobThreshold: 50, scanInterval: '00:00:00.500' };
    bench = new BlobBench(through, limits, await storeAt(through));
  });
  afterEach(async () => {
    fail(() => 'pass');
    await Promise.all(started.splice(0).map((listener) => listener.stop()));
    await Promise.all([proxies.blob.stop(), proxies.queue.stop()]);
  });

  it.each<ProxyFault>(['refuse', 500, 503])('is waited out, with one complaint: %s', async (fault) => {
    await write(['waiting']);
    const { runs, deliver } = counting();
    fail(() => fault);
    await listen(deliver);
    await eventually(() => proxies.blob.requests.length >= 4 && bench.kinds('blob.unavailable').length > 0);
    expect(bench.kinds('blob.unavailable')).toHaveLength(1);
    fail(() => 'pass');
    await eventually(() => expect([...runs]).toEqual([['waiting', 1]]));
    expect(bench.kinds('blob.available')).toHaveLength(1);
  });

  it('may end after a while, and the listener goes on by itself', async () => {
    const { runs, deliver } = counting();
    await write(['first']);
    await listen(deliver);
    await eventually(() => runs.has('first'));
    fail(() => 'refuse');
    await write(['second']);
    await eventually(() => bench.kinds('blob.unavailable').length === 1);
    fail(() => 'pass');
    await eventually(() => runs.has('second'));
    expect([...runs.values()]).toEqual([1, 1]);
  });

  it('loses nothing when it fails all the time, in every way, and every repeat is counted', async () => {
    let state = 7;
    const chance = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const faults: readonly ProxyFault[] = ['refuse', 'lose', 500, 503];
    await write(bodies(40));
    fail(() => (chance() < 0.2 ? (faults[Math.floor(chance() * faults.length)] ?? 'pass') : 'pass'));
    const { runs, deliver } = counting();
    await listen(deliver);
    await eventually(() => expect([...runs.keys()].toSorted()).toEqual(bodies(40).toSorted()), 50_000);
    fail(() => 'pass');
    await eventually(async () => (await bench.found.count(never)) === 0);
    const requeued = bench.kinds('blob.requeued').reduce((sum, one) => sum + ('blobs' in one ? one.blobs : 0), 0);
    const extra = [...runs.values()].reduce((sum, count) => sum + count - 1, 0);
    expect(extra).toBeLessThanOrEqual(bench.kinds('blob.redelivered').length + requeued);
  });
});

describe('processes that are killed again and again', () => {
  it('lose no blob and make no poison: each one is done in the end', async () => {
    const { connectionString } = azurite;
    const limits = { leaseDuration: '00:00:02', poisonBlobThreshold: 100, scanInterval: '00:00:00.500' };
    const bench = new BlobBench(connectionString, limits, await storeAt(connectionString));
    const { application, functionName, containerName } = bench;
    await bench.container.create(never);
    const done = new Set<string>();
    const writing = (async () => {
      for (const text of bodies(200)) await bench.write(text, text);
    })();
    for (let kill = 0; kill < 4; kill++) {
      const binding = { path: `${containerName}/{name}`, ...limits };
      const victim = await startBlobVictim({
        connectionString,
        application,
        functionName,
        binding,
        settles: 'everything',
      });
      await eventually(() => victim.holds() > 15);
      await victim.kill();
      for (const line of victim.child.stdout) if (line.startsWith('got ')) done.add(line.slice(4));
    }
    await writing;
    const listener = bench.listener(async ({ data }) => {
      done.add(String(data));
      return complete;
    });
    await listener.start(never);
    await eventually(() => expect([...done].toSorted()).toEqual(bodies(200).toSorted()));
    await eventually(async () => (await bench.found.count(never)) === 0);
    await listener.stop();
    expect(bench.kinds('blob.poisoned')).toEqual([]);
  });
});
