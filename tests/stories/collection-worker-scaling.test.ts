import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { logOf } from '../support/functions.js';
import { currentPid, startPlatform } from '../support/platform.js';
import { RecordsApi } from '../support/records-api.js';
import { sharedPlatform } from '../support/shared-platform.js';

interface Worker {
  readonly id: string;
  readonly status: string;
  readonly currentLoad: number;
}

interface Assignment {
  readonly collection: string;
  readonly workerId: string;
}

/** One collection worker, and up to two more that the scale controller starts. */
const settings = {
  DROVER_COLLECTION_WORKERS: '1',
  DROVER_COLLECTION_WORKERS_MAX: '3',
  DROVER_COLLECTION_WORKERS_IDLE_MS: '1000',
  DROVER_COLLECTION_WORKERS_TARGET_CPU: '8',
  DROVER_COLLECTION_WORKERS_BUSY_MS: '1000',
  DROVER_COLLECTION_REPLICAS: '1',
  DROVER_COLLECTION_REST_MS: '1000',
  WORKER_CAPACITY: '2',
  DROVER_WORKER_HEARTBEAT_MS: '500',
  DROVER_LOG_LEVEL: 'info',
};

/** Reads from collections all the time, and records each answer that is not 200. */
class Readers {
  readonly failed: string[] = [];
  answered = 0;
  readonly #over = new AbortController();
  readonly #done: Promise<unknown>;

  constructor(api: RecordsApi, names: readonly string[], { count, pauseMs }: { count: number; pauseMs: number }) {
    this.#done = Promise.all(Array.from({ length: count }, (_, index) => this.#read(api, names, index, pauseMs)));
  }

  async end(): Promise<void> {
    this.#over.abort();
    await this.#done;
  }

  async #read(api: RecordsApi, names: readonly string[], first: number, pauseMs: number): Promise<void> {
    for (let turn = first; !this.#over.signal.aborted; turn += 1) {
      const name = names[turn % names.length] ?? '';
      const status = await api.get(`/api/${name}`).then(
        (answer) => answer.status,
        (error: unknown) => String(error),
      );
      this.answered += 1;
      if (status !== 200) this.failed.push(`${name}: ${status}`);
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

const fields = [{ name: 'text', type: 'string' }];

describe('collection workers on demand', () => {
  const platform = sharedPlatform(async (directory, started) => {
    const { up, ready } = await startPlatform(directory, { env: settings });
    started(up);
    const api = await RecordsApi.of(ready);
    return { up, api };
  });
  /** Pids of the workers that were started through the instance provider, dead or alive. */
  const started = (): ReadonlyMap<string, number> =>
    new Map(
      logOf(platform().up).flatMap((line) =>
        line.kind === 'process.started' && line['role'] === 'collection-worker'
          ? [[String(line['workerId']), Number(line['pid'])] as const]
          : [],
      ),
    );
  const alive = (): string[] => [...started()].flatMap(([id, pid]) => (isAlive(pid) ? [id] : []));
  const serving = async (): Promise<Worker[]> => {
    const { workers } = (await platform().api.get('/control/workers')).body as { readonly workers: readonly Worker[] };
    return workers.filter(({ status }) => status === 'READY');
  };
  const loads = async (): Promise<number[]> => (await serving()).map(({ currentLoad }) => currentLoad);
  const define = async (name: string): Promise<void> => {
    expect((await platform().api.post('/control/collections', { name, fields })).status).toBe(201);
  };

  it('are started under load, take over collections without a failed request, and end when it is over (UC-2)', async () => {
    const { api } = platform();
    const names = ['popular1', 'popular2'];
    for (const name of names) await define(name);
    const readers = new Readers(api, names, { count: 4, pauseMs: 0 });
    try {
      await eventually(async () => expect((await loads()).filter((load) => load > 0)).toEqual([1, 1]));
    } finally {
      await readers.end();
    }
    expect(readers.failed).toEqual([]);
    expect(readers.answered).toBeGreaterThan(50);
    await eventually(() => expect(alive()).toEqual([]));
    for (const name of names) expect((await api.get(`/api/${name}`)).status).toBe(200);
  });

  it('are started for collections without a place, survive the scale controller, are replaced, and leave when idle', async () => {
    const { up, api } = platform();
    const names = ['popular1', 'popular2', 'items1', 'items2', 'items3', 'items4'];
    for (const name of names.slice(2)) await define(name);
    const served = async (): Promise<void> => {
      for (const name of names) expect((await api.get(`/api/${name}`)).status).toBe(200);
      const found = (await serving()).filter(({ id }) => id === 'collection-worker-1' || alive().includes(id));
      expect(found.map(({ currentLoad }) => currentLoad)).toEqual([2, 2, 2]);
    };
    await eventually(served);
    const before = alive();
    expect(before).toHaveLength(2);
    const count = started().size;

    // The scale controller is in the platform process.
    process.kill(currentPid(up, 'platform'), 'SIGKILL');
    await eventually(served);
    expect(alive()).toEqual(before);
    const [killed = '', other] = before;
    process.kill(started().get(killed) ?? Number.NaN, 'SIGKILL');
    await eventually(() => expect(alive()).not.toContain(killed));
    await eventually(served);
    expect(alive()).toContain(other);
    expect(started().size).toBe(count + 1);

    const { assignments } = (await api.get('/control/assignments')).body as { readonly assignments: Assignment[] };
    // One collection of each worker that will leave stays, and is read all the time.
    const staying = alive().map((id) => assignments.find(({ workerId }) => workerId === id)?.collection ?? '');
    const readers = new Readers(api, staying, { count: 2, pauseMs: 200 });
    for (const name of names.filter((one) => !staying.includes(one)))
      expect((await api.call('DELETE', `/control/collections/${name}`)).status).toBe(204);
    await eventually(() => expect(alive()).toEqual([]));
    const { answered } = readers;
    await eventually(() => readers.answered > answered + 2);
    await readers.end();
    expect(readers.failed).toEqual([]);
    expect(await serving()).toMatchObject([{ id: 'collection-worker-1', currentLoad: 2 }]);
  });
});
