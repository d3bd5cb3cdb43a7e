import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import {
  collectionRouteChanged,
  type CollectionAssignmentView,
  type CollectionWorkerView,
  type WorkerOrders,
} from '@drover/contracts';
import { Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { PostgresEventBus } from '@drover/event-bus';
import { Secret } from '@drover/service-kit';
import { Child } from '@drover/testkit';
import { drover, plainEnvironment, type ReadyLine } from './platform.js';
import { RecordsApi } from './records-api.js';

/** Processes that a story runs beside the platform of a data directory, and what the control plane says of them. */
export class CollectionPool {
  readonly #directory: string;
  readonly #ready: ReadyLine;
  readonly #started: (child: Child) => Child;
  readonly api: RecordsApi;

  constructor(directory: string, ready: ReadyLine, api: RecordsApi, started: (child: Child) => Child) {
    this.#directory = directory;
    this.#ready = ready;
    this.api = api;
    this.#started = started;
  }

  /** Starts `drover collection-worker`. */
  startWorker(id: string): Child {
    return this.#start('collection-worker', {
      CONTROL_PLANE_URL: this.#ready.urls.public,
      DROVER_COLLECTION_WORKER_PORT: '0',
      DROVER_WORKER_JOIN_KEY_FILE: path.join(this.#directory, 'worker-join-key'),
      DROVER_SECRETS_KEY_FILE: path.join(this.#directory, 'secrets-key'),
      WORKER_ID: id,
    });
  }

  /** Starts `drover gateway`, and returns the records API behind it. */
  async startGateway(): Promise<{ readonly gateway: Child; readonly api: RecordsApi }> {
    const gateway = this.#start('gateway', {
      CONTROL_PLANE_URL: this.#ready.urls.public,
      DROVER_GATEWAY_PORT: '0',
    });
    const line = JSON.parse(await gateway.line(/"kind":"http.listening"/)) as { url: string };
    return { gateway, api: this.api.at(line.url) };
  }

  async workers(): Promise<CollectionWorkerView[]> {
    return (await this.api.get('/control/workers')).body.workers;
  }

  async statusOf(id: string): Promise<CollectionWorkerView['status'] | undefined> {
    return (await this.workers()).find((worker) => worker.id === id)?.status;
  }

  /** Ids of the workers that serve a collection, in order. */
  async servedBy(collection: string): Promise<string[]> {
    const { body } = await this.api.get(`/control/assignments?collection=${collection}&status=READY`);
    return (body.assignments as CollectionAssignmentView[]).map(({ workerId }) => workerId).toSorted();
  }

  /**
   * Registers a worker that reports every collection of its orders as READY and answers all requests for records with 500. Returns
   * how many it has answered, and ends it.
   */
  async startFailingWorker(id: string): Promise<{ readonly answered: () => number; readonly stop: () => void }> {
    let answered = 0;
    const server = createServer((_request, response) => {
      answered += 1;
      response.writeHead(500, { 'content-type': 'application/json' }).end('{"errors":[{"code":"INTERNAL"}]}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const key = (await readFile(path.join(this.#directory, 'worker-join-key'), 'utf8')).trim();
    const control = new RecordsApi(this.#ready.urls.public, key);
    const registration = { workerId: id, baseUrl: `http://127.0.0.1:${port}`, capacity: 1_000 };
    let orders: WorkerOrders = (await control.post('/control/workers/register', registration)).body;
    const { incarnation } = orders;
    const load = { cpu: 0, activeConnections: 0, requestRate: 0, latencyMs: 0, errorRate: 0, memoryBytes: 0 };
    const beat = async (): Promise<void> => {
      const collections = orders.assignments
        .filter(({ status }) => status !== 'REMOVED')
        .map(({ collectionId, generation, status }) => ({
          collectionId,
          generation,
          status: status === 'DRAINING' ? 'REMOVED' : 'READY',
          cpu: 0,
          requestRate: 0,
          errorRate: 0,
        }));
      const heartbeat = { incarnation, status: 'READY', load, collections };
      orders = (await control.post(`/control/workers/${id}/heartbeat`, heartbeat)).body;
    };
    await beat();
    const timer = setInterval(() => void beat().catch(() => undefined), 200);
    return {
      answered: () => answered,
      stop: () => {
        clearInterval(timer);
        server.close();
        server.closeAllConnections();
      },
    };
  }

  /** Publishes, twice each, routes of earlier generations to a worker that does not exist. */
  async publishOutdatedRoutes(): Promise<void> {
    const url = new Secret((await readFile(path.join(this.#directory, 'database-url'), 'utf8')).trim());
    const database = new Database({ url, applicationName: 'test', poolSize: 1, ...quietIo });
    try {
      const bus = new PostgresEventBus({ database, ...quietIo, observe: () => undefined });
      const routes = await database.query<{ id: string; tenantId: string; name: string }>(
        'select id, tenant_id as "tenantId", name from drover.collections',
      );
      const endpoints = [{ workerId: 'gone', url: 'http://127.0.0.1:1' }];
      const outdated = [2, 1, 2, 1].flatMap((generation) =>
        routes.map(({ id: collectionId, tenantId, name }) => ({
          topic: collectionRouteChanged,
          key: collectionId,
          generation,
          payload: { collectionId, tenantId, name, generation, endpoints },
        })),
      );
      await database.transaction((tx) => bus.publish(outdated, tx));
    } finally {
      await database.stop();
    }
  }

  #start(command: string, env: NodeJS.ProcessEnv): Child {
    const common = { DROVER_LOG_FORMAT: 'json', DROVER_LOG_LEVEL: 'info' };
    const databaseUrl = { DATABASE_URL_FILE: path.join(this.#directory, 'database-url') };
    return this.#started(
      new Child(process.execPath, [drover, command], { env: plainEnvironment({ ...common, ...databaseUrl, ...env }) }),
    );
  }
}
