import type { Authenticator } from '@drover/collection-engine';
import type { Route } from '@drover/contracts';
import type { Database } from '@drover/database';
import { MemoryExecutionStore, PostgresExecutionStore, type ExecutionStore } from '@drover/execution-store';
import type { RequestDurations } from '@drover/http-edge';
import { type FencingTokens, PartitionOwnership, SoleOwner } from '@drover/ownership';
import {
  inOrder,
  type Clock,
  type Health,
  type Lifecycle,
  type Observe,
  type Randomness,
  type Sinks,
} from '@drover/service-kit';
import { attemptsPrefix, edgeRoutes } from './api/edge-routes.js';
import { executionHandlers } from './api/execution-handlers.js';
import { functionQueueHandlers } from './api/function-queue-handlers.js';
import { FunctionRemovals } from './api/function-removals.js';
import { InvocationEdge } from './api/invocation-edge.js';
import { callbackSecretHandlers } from './api/callback-secret-handlers.js';
import { CallbackOutbox } from './callbacks/callback-outbox.js';
import { CallbackSecrets } from './callbacks/callback-secrets.js';
import { ResultCallbacks } from './callbacks/result-callbacks.js';
import type { ComposedFunctions } from './compose-functions.js';
import type { ControlPlaneConfig } from './config.js';
import { AttemptTokens } from './executions/attempts/attempt-tokens.js';
import { InvocationEngine } from './executions/engine.js';
import { ExecutionCommands } from './executions/queries/execution-commands.js';
import { ExecutionQueries } from './executions/queries/execution-queries.js';
import { QueueCommands } from './executions/queries/queue-commands.js';
import { engineMetrics } from './executions/engine-metrics.js';
import { OrphanedExecutions } from './executions/orphaned-executions.js';
import { PartitionExecutions } from './executions/partition-executions.js';
import type { HttpServerOptions } from './http/http-server.js';
import type { RouteHandler } from './http/route-handler.js';
import type { ControlPlaneObservation } from './observations.js';
import { RequestForwarder } from './replicas/request-forwarder.js';
import { PeerReplicas } from './replicas/peer-replicas.js';
import type { ReplicaAddress } from './replicas/replica-address.js';
import { ScheduleRunner } from './schedules/schedule-runner.js';
import { ScheduleStore } from './schedules/schedule-store.js';

/** How long a call right after the start waits for the first listing of the runtime. */
const firstListingMs = 3_000;

interface Io {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ControlPlaneObservation>;
}

export interface ExecutionParts extends Io {
  readonly database: Database;
  readonly authenticator: Authenticator;
  readonly address: ReplicaAddress;
  readonly functions: ComposedFunctions;
  readonly requests: RequestDurations;
  /** Whether this process is shutting down. */
  readonly isEnding: () => boolean;
  readonly health: Pick<Health, 'addCheck'>;
  readonly sinks: Sinks;
}

/** Calls of functions and their executions. */
export interface ComposedExecutions {
  readonly handlers: readonly RouteHandler[];
  /** Remove functions, and pause and empty their queues. */
  readonly queueHandlers: readonly RouteHandler[];
  /** Routes served beside `handlers`, below the HTTP framework. */
  readonly routes: readonly Route[];
  readonly serve: NonNullable<HttpServerOptions['front']>;
  readonly serveFastLane: NonNullable<HttpServerOptions['fastLane']>;
  /** Starts before the port that lets calls in. */
  readonly life: Lifecycle;
  /** Starts after the port, since other replicas are told its URL. */
  readonly afterPort: Lifecycle;
}

export function composeExecutions(config: ControlPlaneConfig, parts: ExecutionParts): ComposedExecutions {
  const { database, authenticator, address, functions, requests, health, sinks, clock, randomness, observe } = parts;
  const io = { clock, randomness, observe };
  const replicaId = randomness.uuid();
  const ownership = composeOwnership(config, { database, replicaId, address, ...io });
  const forwarder = new RequestForwarder({ replicaId, unreachable: () => ownership.refresh(), ...io });
  ownership.onReplicaGone((url) => forwarder.abandon(url));

  const store = composeStore(config, { database, fencingTokens: ownership, ...io });
  const secrets = new CallbackSecrets({ database, cipher: functions.cipher, ...io });
  const callbacks = new ResultCallbacks({ guard: functions.guard, secrets, ...io });
  const outbox = new CallbackOutbox({ callbacks, pending: store.pendingCallbacks, fencingTokens: ownership, ...io });
  const tokens = new AttemptTokens(randomness);
  const orphans = new OrphanedExecutions();
  const engine = composeEngine(config, { functions, ownership, store, orphans, outbox, tokens, address, ...io });
  sinks.metrics.compute(engineMetrics(() => engine));
  const partitions = new PartitionExecutions({
    engine,
    store,
    orphans,
    lifetimeMs: config.executionLifetimeMs,
    catalog: functions.catalog,
    onResult: (...result) => outbox.post(...result),
    ...io,
  });
  health.addCheck('functions', () => ownership.problem());
  const schedules = composeSchedules({ database, functions, engine, fencingTokens: ownership, ...io });
  for (const listener of [partitions, outbox, schedules]) ownership.addListener(listener);

  const queries = new ExecutionQueries({ engine, partitions, store, clock });
  const commands = new ExecutionCommands({ engine, partitions, store, queries });
  const peers = new PeerReplicas({ owners: ownership, replicaId });
  const queues = new QueueCommands({ engine, partitions });
  const removals = new FunctionRemovals({ ...functions, queues, owners: ownership, ...io });
  const edge = new InvocationEdge({
    engine,
    queries,
    commands,
    tokens,
    callbackProblem: (callbackUrl) => functions.guard.quickProblemOf(callbackUrl),
    owners: ownership,
    forwarder,
    authenticator,
    url: () => address.url,
    isEnding: parts.isEnding,
    durations: requests,
    bodyLimitBytes: config.bodyLimitBytes,
    isTraced: sinks.spans !== undefined,
    isLogged: sinks.log.isLevelEnabled('debug'),
    ...io,
  });
  return {
    handlers: [...executionHandlers({ queries, commands, peers }), ...callbackSecretHandlers(secrets)],
    queueHandlers: functionQueueHandlers({ ...functions, queues, removals, peers, observe }),
    routes: edgeRoutes,
    serve: edge.take,
    serveFastLane: edge.takeFastLane,
    // The outbox delivers results that the store has archived and records deliveries in the store until it stops.
    life: inOrder('executions', [outbox, callbacks, store, engine, partitions, schedules, forwarder]),
    afterPort: inOrder('ownership', [edge, ownership, removals]),
  };
}

interface ScheduleParts extends Io {
  readonly database: Database;
  readonly functions: ComposedFunctions;
  readonly engine: InvocationEngine;
  readonly fencingTokens: FencingTokens;
}

function composeSchedules({ database, functions: { catalog }, ...parts }: ScheduleParts): ScheduleRunner {
  return new ScheduleRunner({ store: new ScheduleStore(database), catalog, ...parts });
}

interface OwnershipParts extends Io {
  readonly database: Database;
  readonly replicaId: string;
  readonly address: ReplicaAddress;
}

function composeOwnership(
  config: ControlPlaneConfig,
  { address, ...parts }: OwnershipParts,
): PartitionOwnership | SoleOwner {
  if (config.executionStore === 'memory') return new SoleOwner();
  return new PartitionOwnership({
    url: () => address.url,
    timings: { ttlMs: config.ownershipTtlMs, handoverMs: config.handoverMs },
    ...parts,
  });
}

interface EngineParts extends Io {
  readonly functions: ComposedFunctions;
  readonly ownership: FencingTokens;
  readonly store: ExecutionStore;
  readonly orphans: OrphanedExecutions;
  readonly outbox: CallbackOutbox;
  readonly tokens: AttemptTokens;
  readonly address: ReplicaAddress;
}

function composeEngine(
  config: ControlPlaneConfig,
  { functions: { catalog, discovered, dispatchers }, ownership, outbox, tokens, address, ...parts }: EngineParts,
): InvocationEngine {
  return new InvocationEngine({
    catalog,
    async beforeUnknown() {
      if (discovered.isKnown) return false;
      await discovered.waitForFirst(firstListingMs);
      return true;
    },
    dispatchers,
    isOwner: (partition) => ownership.tokenOf(partition) !== undefined,
    limits: { ...config, maxBytes: config.queuedMaxBytes },
    tickMs: config.schedulerTickMs,
    lifetimeMs: config.executionLifetimeMs,
    keyTtlMs: config.executionTtlMs,
    callbackBaseUrl: ({ accepted, number }) =>
      `${address.url}${attemptsPrefix}${tokens.make(accepted.executionId, number)}`,
    onResult: (...result) => outbox.post(...result),
    ...parts,
  });
}

function composeStore(
  config: ControlPlaneConfig,
  parts: Io & { readonly database: Database; readonly fencingTokens: FencingTokens },
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
