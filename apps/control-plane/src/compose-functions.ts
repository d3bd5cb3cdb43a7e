import { existsSync, readFileSync } from 'node:fs';
import type { ExecutionMode } from '@drover/contracts';
import type { Database } from '@drover/database';
import {
  AppDispatcher,
  chooseFunctionsUser,
  EndpointDispatcher,
  EndpointGuard,
  JobDispatcher,
  LocalDispatcher,
  ProcessJobRunner,
  RuntimeConnection,
  type Dispatcher,
  type FunctionsUser,
} from '@drover/dispatchers';
import type { EventBus } from '@drover/event-bus';
import { inOrder, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import { functionHandlers } from './api/function-handlers.js';
import type { ControlPlaneConfig } from './config.js';
import { DiscoveredFunctions } from './functions/discovered-functions.js';
import { EnvCipher } from './functions/env-cipher.js';
import { StoredFunctionCatalog } from './functions/stored-function-catalog.js';
import { FunctionStore } from './functions/function-store.js';
import { retryDefaults } from './functions/resolve-function.js';
import type { RouteHandler } from './http/route-handler.js';
import type { ControlPlaneObservation } from './observations.js';

export interface FunctionParts {
  readonly database: Database;
  readonly bus: EventBus;
  readonly isEnding: () => boolean;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

/** The registry of functions and the ways to run them. */
export interface ComposedFunctions {
  /** Encrypts what tenants keep secret. */
  readonly cipher: EnvCipher;
  readonly connection: RuntimeConnection;
  readonly store: FunctionStore;
  readonly catalog: StoredFunctionCatalog;
  readonly discovered: DiscoveredFunctions;
  readonly dispatchers: Dispatchers;
  /** Guards every URL that a user may set. */
  readonly guard: EndpointGuard;
  readonly handlers: readonly RouteHandler[];
  readonly life: Lifecycle;
}

export function composeFunctions(
  config: ControlPlaneConfig,
  { database, bus, isEnding, clock, randomness, observe }: FunctionParts,
): ComposedFunctions {
  const io = { clock, randomness, observe };
  const connection = new RuntimeConnection({ ...config, masterKey: config.functionsMasterKey, clock });
  const defaults = {
    timeoutMs: config.defaultTimeoutMs,
    queueSize: config.defaultQueueSize,
    concurrency: config.defaultConcurrency,
    maxRetries: config.defaultMaxRetries,
  };
  const discovered = new DiscoveredFunctions({
    connection,
    defaults: { ...defaults, retry: retryDefaults },
    isEnding,
    ...io,
  });
  bus.onBarrier(discovered.untilServed);
  const cipher = new EnvCipher(config.secretsKey, randomness);
  const store = new FunctionStore(database, bus, cipher);
  const catalog = new StoredFunctionCatalog({ store, bus, discovered, clock, observe });
  const guard = new EndpointGuard({ hosts: config.endpointHosts, clock });
  const dispatchers = composeDispatchers(config, { guard, connection, discovered, ...io });
  const handlers = functionHandlers({
    store,
    catalog,
    discovered,
    defaults,
    checkEndpoint: (endpoint) => guard.problemOf(endpoint),
    checkLocal: (wanted) => dispatchers.LOCAL.problemOf(wanted),
    degradationOf: (definition) =>
      definition.mode === 'REMOTE' ? dispatchers.REMOTE.problemOf(definition) : undefined,
    remoteBackend: config.jobRunner === 'off' ? undefined : config.jobRunner,
    observe,
  });
  const life = inOrder('functions', [connection, discovered, catalog, ...Object.values(dispatchers)]);
  return { cipher, connection, store, catalog, discovered, dispatchers, guard, handlers, life };
}

interface DispatcherParts {
  readonly guard: EndpointGuard;
  readonly connection: RuntimeConnection;
  readonly discovered: DiscoveredFunctions;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

export type Dispatchers = ReturnType<typeof composeDispatchers>;

function composeDispatchers(config: ControlPlaneConfig, { guard, connection, discovered, ...io }: DispatcherParts) {
  const { environment } = config;
  const user = functionsUser(config.functionsUser);
  const runner =
    config.jobRunner === 'process'
      ? new ProcessJobRunner({ environment, graceMs: config.jobGraceMs, user, ...io })
      : undefined;
  return {
    LOCAL: new LocalDispatcher({
      directory: config.handlersDirectory,
      driver: config.localDriver,
      maxPools: config.localMaxPools,
      idleMs: config.localIdleMs,
      environment,
      user,
      ...io,
    }),
    POOL: new EndpointDispatcher({ guard, maxResponseBytes: config.endpointAnswerLimitBytes, ...io }),
    REMOTE: new JobDispatcher({ runner, maxJobs: config.maxJobs, ...io }),
    APP: new AppDispatcher({ connection, discovered }),
  } satisfies Readonly<Record<ExecutionMode, Dispatcher>>;
}

function functionsUser(wanted: string | undefined): FunctionsUser | undefined {
  const accounts = '/etc/passwd';
  const passwd = existsSync(accounts) ? readFileSync(accounts, 'utf8') : '';
  return chooseFunctionsUser(wanted, { isRoot: process.getuid?.() === 0, passwd });
}
