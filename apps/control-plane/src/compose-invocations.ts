import type { ExecutionMode, Route } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import {
  inOrder,
  registerComputed,
  type Clock,
  type Lifecycle,
  type Observe,
  type Randomness,
  type Sinks,
} from '@drover/service-kit';
import {
  type FencingTokens,
  type OwnerDirectory,
  PartitionOwnership,
  combineListeners,
  SoleOwner,
} from '@drover/ownership';
import {
  AppDispatcher,
  type Dispatcher,
  EndpointGuard,
  LocalDispatcher,
  PoolDispatcher,
  ProcessJobRunner,
  RemoteDispatcher,
  RuntimeConnection,
} from '@drover/dispatchers';
import { type ExecutionStore, MemoryExecutionStore, PostgresExecutionStore } from '@drover/execution-store';
import type { Authenticator } from './access/authenticator.js';
import type { ControlPlaneConfig } from './config.js';
import { EnvCipher } from './functions/env-cipher.js';
import { DiscoveredFunctions } from './functions/discovered-functions.js';
import { StoredFunctionCatalog } from './functions/function-catalog.js';
import { functionHandlers } from './api/function-handlers.js';
import { FunctionStore } from './functions/function-store.js';
import { retryDefaults } from './functions/resolve-function.js';
import { Forwarder } from './replicas/forwarder.js';
import { PeerReplicas } from './replicas/peer-replicas.js';
import type { HttpServerOptions } from './http/http-server.js';
import type { RequestFigures } from './http/request-figures.js';
import type { RouteHandler } from './http/route-handler.js';
import { AttemptTokens } from './executions/attempt-tokens.js';
import { CallbackOutbox } from './callbacks/callback-outbox.js';
import { ResultCallbacks } from './callbacks/result-callbacks.js';
import { PartitionExecutions } from './executions/partition-executions.js';
import { InvocationEngine } from './executions/engine.js';
import { ExecutionDesk } from './executions/execution-desk.js';
import { executionHandlers } from './api/execution-handlers.js';
import { functionMetrics } from './executions/function-metrics.js';
import { attemptsPrefix, edgeRoutes } from './api/edge-routes.js';
import { InvocationEdge } from './api/invocation-edge.js';
import { isLoopback } from './is-loopback.js';
import type { ControlPlaneObservation } from './observations.js';

/** How long somebody who asks right after the start waits for what applications have. */
const firstListingMs = 3_000;

export interface InvocationSurroundings {
  readonly database: Database;
  readonly bus: EventBus;
  readonly authenticator: Authenticator;
  /** Where this process is reached; known once its server listens. */
  readonly url: () => string;
  /** Whether this process is about to end. */
  readonly isEnding: () => boolean;
  readonly figures: RequestFigures;
  readonly sinks: Sinks;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

/** Functions and their executions. */
export interface InvocationSide {
  readonly handlers: readonly RouteHandler[];
  /** What is served beside them, on the bare server. */
  readonly routes: readonly Route[];
  readonly front: NonNullable<HttpServerOptions['front']>;
  readonly fastLane: NonNullable<HttpServerOptions['fastLane']>;
  /** Starts before the server that lets calls in. */
  readonly before: Lifecycle;
  /** Starts after it: others are told where it is. */
  readonly after: Lifecycle;
}

export function composeInvocations(config: ControlPlaneConfig, around: InvocationSurroundings): InvocationSide {
  const { database, bus, authenticator, sinks, clock, randomness, observe } = around;
  const io = { clock, randomness, observe };
  const replicaId = randomness.uuid();
  const url = (): string => config.replicaUrl ?? around.url();

  const connection = new RuntimeConnection({ ...config, masterKey: config.functionsMasterKey });
  const defaults = {
    timeoutMs: config.defaultTimeoutMs,
    queueSize: config.defaultQueueSize,
    concurrency: config.defaultConcurrency,
    maxRetries: config.defaultMaxRetries,
  };
  const discovered = new DiscoveredFunctions({ connection, defaults: { ...defaults, retry: retryDefaults }, ...io });
  const functions = new FunctionStore(database, bus, new EnvCipher(config.secretsKey, randomness));
  const catalog = new StoredFunctionCatalog({ store: functions, bus, discovered, clock, observe });

  const guard = new EndpointGuard({ hosts: config.endpointHosts, allowsLoopback: isLoopback(config.host), clock });
  const dispatchers = composeDispatchers(config, { guard, connection, discovered, ...io });

  // Each needs the other: the store asks who is at home, and who becomes the home takes up what the store has.
  let ownership: Lifecycle & OwnerDirectory & FencingTokens;
  const fencingTokens: FencingTokens = { tokenOf: (partition) => ownership.tokenOf(partition) };
  const store = composeStore(config, { database, fencingTokens, ...io });
  const tokens = new AttemptTokens(randomness);
  const callbacks = new ResultCallbacks({ guard, ...io });
  const outbox = new CallbackOutbox({ callbacks, marks: store.callbackMarks, fencingTokens, ...io });
  const onResult: CallbackOutbox['post'] = (...result) => outbox.post(...result);
  const engine = new InvocationEngine({
    catalog,
    async beforeUnknown() {
      if (discovered.isKnown) return false;
      await discovered.waitForFirst(firstListingMs);
      return true;
    },
    dispatchers,
    store,
    isOwner: (partition) => ownership.tokenOf(partition) !== undefined,
    limits: { ...config, maxBytes: config.queuedMaxBytes },
    tickMs: config.schedulerTickMs,
    lifetimeMs: config.executionLifetimeMs,
    keyTtlMs: config.executionTtlMs,
    callbackBaseUrl: ({ accepted, number }) => `${url()}${attemptsPrefix}${tokens.make(accepted.executionId, number)}`,
    onResult,
    ...io,
  });
  registerComputed(
    sinks.metrics,
    functionMetrics(() => engine),
  );
  const partitions = new PartitionExecutions({ engine, store, catalog, onResult, ...io });
  const listener = combineListeners([partitions, outbox]);
  const shared = new PartitionOwnership({
    database,
    replicaId,
    url,
    listener,
    gone: (gone) => forwarder.abandon(gone),
    timings: { ttlMs: config.ownershipTtlMs, handoverMs: config.handoverMs },
    ...io,
  });
  ownership = config.executionStore === 'memory' ? new SoleOwner({ listener }) : shared;
  const forwarder = new Forwarder({ replicaId, unreachable: () => shared.refresh(), ...io });
  const desk = new ExecutionDesk({ engine, partitions, store, clock });
  const edge = new InvocationEdge({
    engine,
    desk,
    tokens,
    callbackProblem: (callbackUrl) => guard.quickProblemOf(callbackUrl),
    owners: ownership,
    forwarder,
    authenticator,
    url,
    isEnding: around.isEnding,
    figures: around.figures,
    bodyLimitBytes: config.bodyLimitBytes,
    isTraced: sinks.spans !== undefined,
    isLogged: sinks.log.isLevelEnabled('debug'),
    ...io,
  });
  return {
    handlers: [
      ...functionHandlers({
        store: functions,
        catalog,
        discovered,
        defaults,
        checkEndpoint: (endpoint) => guard.problemOf(endpoint),
        checkLocal: (wanted) => dispatchers.LOCAL.problemOf(wanted),
        degradationOf: (definition) =>
          definition.mode === 'REMOTE' ? dispatchers.REMOTE.problemOf(definition) : undefined,
        remoteBackend: config.jobRunner === 'off' ? undefined : config.jobRunner,
        observe,
      }),
      ...executionHandlers({ desk, peers: new PeerReplicas({ owners: ownership, replicaId }) }),
    ],
    routes: edgeRoutes,
    front: edge.take,
    fastLane: edge.takeFastLane,
    before: inOrder('invocations', [
      connection,
      discovered,
      catalog,
      ...Object.values(dispatchers),
      // Ends come out of the store to be delivered, and what was delivered goes back into it until it stops.
      outbox,
      callbacks,
      store,
      engine,
      partitions,
      forwarder,
    ]),
    after: inOrder('ownership', [edge, ownership]),
  };
}

interface DispatcherParts {
  readonly guard: EndpointGuard;
  readonly connection: RuntimeConnection;
  readonly discovered: DiscoveredFunctions;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

function composeDispatchers(config: ControlPlaneConfig, { guard, connection, discovered, ...io }: DispatcherParts) {
  const { environment } = config;
  const runner =
    config.jobRunner === 'process'
      ? new ProcessJobRunner({ environment, graceMs: config.jobGraceMs, ...io })
      : undefined;
  return {
    LOCAL: new LocalDispatcher({
      directory: config.handlersDirectory,
      driver: config.localDriver,
      maxPools: config.localMaxPools,
      idleMs: config.localIdleMs,
      environment,
      ...io,
    }),
    POOL: new PoolDispatcher({ guard, maxResponseBytes: config.endpointAnswerLimitBytes, ...io }),
    REMOTE: new RemoteDispatcher({ runner, maxJobs: config.maxJobs, ...io }),
    APP: new AppDispatcher({ connection, discovered }),
  } satisfies Readonly<Record<ExecutionMode, Dispatcher>>;
}

function composeStore(
  config: ControlPlaneConfig,
  parts: {
    readonly database: Database;
    readonly fencingTokens: FencingTokens;
    readonly clock: Clock;
    readonly randomness: Randomness;
    readonly observe: Observe<ControlPlaneObservation>;
  },
): ExecutionStore {
  const limits = {
    ttlMs: config.executionTtlMs,
    deadLetterTtlMs: config.deadLetterTtlMs,
    maxBytes: config.executionsMaxBytes,
  };
  return config.executionStore === 'memory'
    ? new MemoryExecutionStore({ ...limits, clock: parts.clock })
    : new PostgresExecutionStore({ ...limits, ...parts });
}
