import { ApiKeyStore, Authenticator } from '@drover/collection-engine';
import { createClient, functionRoutes, type Client, type Scope, type TenantId } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { TestDatabase } from '@drover/database/testing';
import { PostgresEventBus } from '@drover/event-bus';
import { RequestDurations } from '@drover/http-edge';
import { SoleOwner } from '@drover/ownership';
import {
  createObserve,
  createLog,
  createMetrics,
  inOrder,
  systemClock,
  systemRandomness,
  type Secret,
} from '@drover/service-kit';
import type { FunctionDefinition } from '@drover/dispatchers';
import { EnvCipher } from '../../src/functions/env-cipher.js';
import { StoredFunctionCatalog, type DiscoveredFunctionSource } from '../../src/functions/stored-function-catalog.js';
import { functionQueueHandlers } from '../../src/api/function-queue-handlers.js';
import { FunctionRemovals } from '../../src/api/function-removals.js';
import { functionHandlers, type FunctionHandlersOptions } from '../../src/api/function-handlers.js';
import { FunctionStore } from '../../src/functions/function-store.js';
import { functionReaders, type FunctionObservation } from '../../src/functions/observations.js';
import { HttpServer } from '../../src/http/http-server.js';
import { controlPlaneReaders, type ControlPlaneObservation } from '../../src/observations.js';
import { parseJson, type Answer } from './raw-http.js';
import { see } from './secrets.js';
import { storeKey } from './stored-keys.js';

export interface FunctionsApi {
  readonly catalog: StoredFunctionCatalog;
  readonly database: Database;
  /** What the catalog told, in order. */
  readonly heard: {
    readonly tenantId: TenantId;
    readonly name: string;
    readonly now: FunctionDefinition | undefined;
  }[];
  request(
    path: string,
    options: { readonly key: string; readonly method?: string; readonly json?: unknown },
  ): Promise<Answer>;
  client(key: string): Client<typeof functionRoutes>;
  key(tenantId: string, scopes?: Scope[]): Promise<string>;
  stop(): Promise<void>;
}

export interface FunctionsApiOptions extends Pick<FunctionHandlersOptions, 'checkEndpoint'> {
  readonly secretsKey?: Secret;
  readonly discovered?: DiscoveredFunctionSource;
}

/** Starts the function registry alone behind the real HTTP server, over the database of `test`, which has its tables. */
export async function startFunctionsApi(test: TestDatabase, options: FunctionsApiOptions = {}): Promise<FunctionsApi> {
  const { secretsKey, discovered, checkEndpoint } = options;
  const sinks = {
    log: createLog('control-plane', 'debug', { write: (line: string) => see('log', line) }),
    metrics: createMetrics('control-plane'),
  };
  const readers = { ...controlPlaneReaders, ...functionReaders };
  const observe = createObserve<ControlPlaneObservation | FunctionObservation>(readers, sinks);
  const io = { clock: systemClock, randomness: systemRandomness, observe };
  const database = await test.connect();
  const bus = new PostgresEventBus({ database, ...io });
  const authenticator = new Authenticator(new ApiKeyStore(database, bus), bus, systemClock);
  const store = new FunctionStore(database, bus, new EnvCipher(secretsKey, systemRandomness));
  const catalog = new StoredFunctionCatalog({ store, bus, discovered, ...io });
  const heard: FunctionsApi['heard'] = [];
  // No calls are served here, so every queue is empty.
  const queues = {
    countsOf: () => ({ waiting: 0, retrying: 0, scheduled: 0, running: 0 }),
    purge: () => Promise.resolve(0),
  };
  const removals = new FunctionRemovals({ store, catalog, queues, owners: new SoleOwner(), ...io });
  catalog.onChange((tenantId, name, now) => heard.push({ tenantId, name, now }));
  const server = new HttpServer({
    host: '127.0.0.1',
    port: 0,
    bodyLimitBytes: 1_048_576,
    handlers: [
      ...functionHandlers({
        store,
        catalog,
        discovered,
        defaults: { timeoutMs: 30_000, queueSize: 100, concurrency: 4, maxRetries: 3 },
        checkEndpoint,
        remoteBackend: 'process',
        observe,
      }),
      ...functionQueueHandlers({
        store,
        catalog,
        queues,
        removals,
        peers: { atOwner: (_, __, serve) => serve() },
        observe,
      }),
    ],
    authenticator,
    durations: new RequestDurations(),
    ...io,
  });
  const life = inOrder('functions', [bus, authenticator, catalog, server]);
  await life.start(new AbortController().signal);
  const send: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    see('answer', (await response.clone().text()) + JSON.stringify([...response.headers]));
    return response;
  };
  return {
    catalog,
    database,
    heard,
    async request(path, { key, method = 'GET', json }) {
      const response = await send(`${server.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, ...(json !== undefined && { 'content-type': 'application/json' }) },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: parseJson(text) };
    },
    client: (apiKey) => createClient(functionRoutes, { url: server.url, apiKey, fetch: send }),
    key: (tenantId, scopes = ['functions:read', 'functions:write', 'functions:commands']) =>
      storeKey(database, { tenantId, scopes }),
    stop: () => life.stop(),
  };
}
