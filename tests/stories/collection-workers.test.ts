import type { CollectionDefinition } from '@drover/contracts';
import { eventually } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { CollectionPool } from '../support/collection-pool.js';
import { startPlatform } from '../support/platform.js';
import { RecordsApi } from '../support/records-api.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { SteadyClients, type FailedRequest } from '../support/steady-clients.js';

const names = ['orders', 'items', 'order-archive'];

describe('collections on several workers', () => {
  const platform = sharedPlatform(async (directory, started) => {
    const env = {
      DROVER_WORKER_HEARTBEAT_MS: '500',
      DROVER_WORKER_STALE_MS: '2500',
      DROVER_LOG_LEVEL: 'info',
      // Every worker has requests in flight, also one that no collection prefers.
      DROVER_GATEWAY_STICKY_REQUESTS: '1',
    };
    const { up, ready } = await startPlatform(directory, { env });
    started(up);
    const api = await RecordsApi.of(ready);
    for (const name of names) {
      const definition: CollectionDefinition = {
        name,
        fields: [
          { name: 'number', type: 'STRING', unique: true },
          { name: 'quantity', type: 'INTEGER', indexed: true },
        ],
      };
      await api.post('/control/collections', definition);
    }
    const pool = new CollectionPool(directory, ready, api, started);
    return { api, pool, platformPid: ready.pids.platform };
  });

  let clients: SteadyClients | undefined;
  const load = (api: RecordsApi = platform().api): SteadyClients => {
    clients = new SteadyClients((method, path, body) => api.call(method, path, body), names);
    return clients;
  };
  afterEach(async () => {
    await clients?.stop();
    clients = undefined;
  });

  /** Waits for as many more answers of the load. */
  const progress = async (requests: SteadyClients, count = 100): Promise<void> => {
    const before = requests.answered;
    await eventually(() => requests.answered >= before + count, 120_000);
  };

  /** Waits until the two workers of `drover up` serve all collections, and no other worker does. */
  const servedAtHome = async (): Promise<void> => {
    const { pool } = platform();
    for (const name of names)
      await eventually(async () =>
        expect(await pool.servedBy(name)).toEqual(['collection-worker-1', 'collection-worker-2']),
      );
  };

  const lostWrites = async ({ acknowledged }: SteadyClients): Promise<string[]> => {
    const { api } = platform();
    const lost: string[] = [];
    for (const [path, quantity] of acknowledged) {
      const { status, body } = await api.get(path);
      if (body?.data?.attributes.quantity !== quantity) lost.push(`${path}: ${quantity}, now ${status}`);
    }
    return lost;
  };

  it('is not misled by events that come late, twice and in another order', async () => {
    const { pool } = platform();
    await servedAtHome();
    const requests = load();
    await pool.publishOutdatedRoutes();
    await progress(requests, 300);
    await requests.stop();
    expect(requests.failures).toEqual([]);
  });

  it('fails no request of 200 per second while workers join and leave and collections move', async () => {
    const { api, pool } = platform();
    const requests = load();
    const worker = pool.startWorker('joiner');
    await eventually(async () => expect(await pool.statusOf('joiner')).toBe('READY'));
    for (const collection of names) {
      const moved = await api.post('/control/assignments/assign', { collection, workerId: 'joiner' });
      expect(moved.status).toBe(202);
      await eventually(async () => expect(await pool.servedBy(collection)).toContain('joiner'));
    }
    await progress(requests);
    worker.kill('SIGTERM');
    expect(await worker.exited).toMatchObject({ code: 0 });
    await servedAtHome();
    await progress(requests);
    await requests.stop();
    expect(requests.failures).toEqual([]);
    expect(await lostWrites(requests)).toEqual([]);
  });

  it('replaces a worker that is killed, and fails only changes that it was working on (UC-4)', async () => {
    const { api, pool } = platform();
    const worker = pool.startWorker('victim');
    await eventually(async () => expect(await pool.statusOf('victim')).toBe('READY'));
    for (const collection of names) {
      await api.post('/control/assignments/assign', { collection, workerId: 'victim' });
      await eventually(async () => expect(await pool.servedBy(collection)).toContain('victim'));
    }
    const requests = load();
    await progress(requests, 200);
    worker.kill('SIGKILL');
    await worker.exited;
    await progress(requests, 200);
    await eventually(async () => expect(await pool.statusOf('victim')).not.toBe('READY'));
    await servedAtHome();
    await requests.stop();
    expect(requests.failures.filter(isUnexpected)).toEqual([]);
    expect(await lostWrites(requests)).toEqual([]);
  });

  it('leaves a worker that hangs, and uses it again when it goes on', async () => {
    const { api, pool } = platform();
    const worker = pool.startWorker('sleeper');
    await eventually(async () => expect(await pool.statusOf('sleeper')).toBe('READY'));
    for (const collection of names) {
      await api.post('/control/assignments/assign', { collection, workerId: 'sleeper' });
      await eventually(async () => expect(await pool.servedBy(collection)).toContain('sleeper'));
    }
    const requests = load();
    await progress(requests, 200);
    worker.kill('SIGSTOP');
    try {
      await progress(requests, 400);
      await eventually(async () => expect(await pool.statusOf('sleeper')).toBe('OFFLINE'));
      await servedAtHome();
    } finally {
      worker.kill('SIGCONT');
    }
    await eventually(async () => expect(await pool.statusOf('sleeper')).toBe('READY'));
    await requests.stop();
    // A change that hung with the worker is either done when that goes on, or has an error that says that its effect is not known.
    expect(requests.failures.filter(isUnexpected)).toEqual([]);
    expect(await lostWrites(requests)).toEqual([]);
    worker.kill('SIGTERM');
    await worker.exited;
  });

  it('goes on without a control plane, also behind a gateway that starts then', async () => {
    const { pool, platformPid } = platform();
    const { gateway, api } = await pool.startGateway();
    const requests = load(api);
    await progress(requests, 200);
    process.kill(platformPid, 'SIGSTOP');
    try {
      // As long as 20 heartbeats, and four times as long as a worker may be silent.
      await progress(requests, 2_000);
      await requests.stop();
      expect(requests.failures).toEqual([]);
      gateway.kill('SIGKILL');
      const next = await pool.startGateway();
      const later = load(next.api);
      await progress(later, 200);
      await later.stop();
      expect(later.failures).toEqual([]);
    } finally {
      process.kill(platformPid, 'SIGCONT');
    }
    // All heartbeats were late, and no worker is taken for dead.
    const after = load();
    await progress(after, 400);
    await after.stop();
    expect(after.failures).toEqual([]);
    await servedAtHome();
    expect(await lostWrites(requests)).toEqual([]);
  });

  it('leaves a worker that reports READY and answers 500', async () => {
    const { api, pool } = platform();
    const failing = await pool.startFailingWorker('liar');
    try {
      for (const collection of names) {
        await api.post('/control/assignments/assign', { collection, workerId: 'liar' });
        await eventually(async () => expect(await pool.servedBy(collection)).toContain('liar'));
      }
      const statuses: number[] = [];
      // Reads that fail there go to another worker.
      await eventually(async () => {
        for (let batch = 0; batch < 20; batch += 1) statuses.push((await api.get('/api/orders?page[size]=1')).status);
        expect(statuses.slice(-20)).toEqual(Array.from({ length: 20 }, () => 200));
        expect(failing.answered()).toBeGreaterThan(0);
      });
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(await pool.statusOf('liar')).toBe('READY');
    } finally {
      failing.stop();
    }
    await servedAtHome();
  });
});

/** Reads are sent again, and changes that no worker has seen: only changes whose effect is not known may fail. */
function isUnexpected({ method, status }: FailedRequest): boolean {
  return method === 'GET' || (status !== 502 && status !== 504);
}
