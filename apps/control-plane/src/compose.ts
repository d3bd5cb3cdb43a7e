import { ApiKeyStore, Authenticator } from '@drover/collection-engine';
import { Database, DatabaseProbe, migrate } from '@drover/database';
import { PostgresEventBus } from '@drover/event-bus';
import { RequestDurations, requestMetrics } from '@drover/http-edge';
import {
  createObserve,
  inOrder,
  step,
  type Composition,
  type Lifecycle,
  type PartHealth,
  type ProcessDescription,
  type ProcessIo,
} from '@drover/service-kit';
import { bootstrapKeys } from './access/bootstrap-key.js';
import { apiKeyHandlers } from './api/api-key-handlers.js';
import { scalingHandlers, type ExplainScaling } from './api/scaling-handlers.js';
import { openApiHandlers, statusHandlers } from './api/status-handlers.js';
import { AppliedChanges } from './changes/applied-changes.js';
import { composeApplications } from './compose-applications.js';
import { composeAssignments } from './compose-assignments.js';
import { composeCollections } from './compose-collections.js';
import { composeExecutions } from './compose-executions.js';
import { composeFunctions } from './compose-functions.js';
import { composeRecordEvents } from './compose-record-events.js';
import { parseControlPlaneConfig, type ControlPlaneConfig } from './config.js';
import { configuredPortLimits } from './http/http-limits.js';
import type { DiscoveredFunctions } from './functions/discovered-functions.js';
import { HttpServer, type HttpServerOptions } from './http/http-server.js';
import { controlPlaneReaders } from './observations.js';
import { ReplicaAddress } from './replicas/replica-address.js';
import { RouteGuard } from './route-clashes/route-guard.js';
import { controlPlaneSchema } from './schema.js';
import { version } from './version.js';

/** Another server on the same port, asked before the control plane. */
export interface PortFront {
  readonly serve: NonNullable<HttpServerOptions['front']>;
  readonly serveFastLane: NonNullable<HttpServerOptions['fastLane']>;
  /** Gives back connections of this port that it has passed to another process. */
  readonly connections?: HttpServerOptions['connections'];
  /** Started before the port opens. */
  readonly parts?: readonly Lifecycle[];
}

/** What another server on the same port shares with the control plane. */
export interface FrontShared {
  readonly database: Database;
  readonly bus: PostgresEventBus;
  readonly authenticator: Authenticator;
}

/** What the process of the control plane contains beside it. */
export interface ControlPlaneSurroundings {
  readonly front?: (shared: FrontShared) => PortFront;
  /** Explains the number of workers of an application; undefined if the scale controller runs in another process. */
  readonly explainScaling?: ExplainScaling;
}

/** The composition root of the control plane. Long, because it reads from top to bottom: every argument exists before its use. */
export function composeControlPlane(
  config: ControlPlaneConfig,
  { sinks, health, clock, randomness }: ProcessIo,
  { front: makeFront, explainScaling }: ControlPlaneSurroundings = {},
): Composition {
  const observe = createObserve(controlPlaneReaders, sinks);
  const io = { clock, randomness, observe };
  const database = openDatabase(config, io);
  const probe = new DatabaseProbe(database, clock);
  health.addCheck('database', () => probe.problem());
  const bus = new PostgresEventBus({ database, retentionMs: config.eventRetentionMs, ...io });
  const keys = new ApiKeyStore(database, bus);
  const authenticator = new Authenticator(keys, bus, clock);
  const requests = new RequestDurations();
  sinks.metrics.compute(requestMetrics(() => requests));
  const address = new ReplicaAddress(config.replicaUrl);
  const isEnding = (): boolean => health.state === 'draining';
  const functions = composeFunctions(config, { database, bus, isEnding, ...io });
  health.addPart(() => runtimeHealth(config, functions.discovered));
  const routeGuard = new RouteGuard(database);
  const applications = composeApplications(config, {
    database,
    bus,
    routeGuard,
    connection: functions.connection,
    ...io,
  });
  health.addPart(() => applications.folders.health());
  const assignments = composeAssignments(config, { database, bus, ...io });
  sinks.metrics.compute(assignments.metrics);
  const collections = composeCollections(config, {
    database,
    bus: assignments.definitionsBus,
    keys,
    routeGuard,
    ...io,
  });
  const recordEvents = composeRecordEvents(config, {
    database,
    bus,
    functions,
    definitions: collections.definitions,
    ...io,
  });
  const executions = composeExecutions(config, {
    database,
    authenticator,
    address,
    functions,
    requests,
    isEnding,
    health,
    sinks,
    ...io,
  });
  const changes = new AppliedChanges({ bus, waitMs: config.changeWaitMs });
  const handlers = [
    ...statusHandlers({ version, database, bus, health, metrics: sinks.metrics, clock }),
    ...changes.awaited(apiKeyHandlers({ store: keys, authenticator, ...io })),
    ...changes.awaited(functions.handlers),
    ...changes.awaited(applications.handlers, applications.subjectOf),
    ...changes.awaited(collections.handlers),
    ...assignments.handlers,
    ...recordEvents.handlers,
    ...scalingHandlers(explainScaling),
    ...changes.awaited(executions.queueHandlers),
    ...executions.handlers,
  ];
  const routes = [...handlers.map(({ route }) => route), ...executions.routes];
  const front = makeFront?.({ database, bus, authenticator });
  const server = new HttpServer({
    host: config.host,
    port: config.port,
    bodyLimitBytes: config.bodyLimitBytes,
    handlers: [...handlers, ...openApiHandlers(version, routes)],
    limits: configuredPortLimits(config),
    authenticator,
    durations: requests,
    isEnding,
    onListening: (url) => address.listensAt(url),
    front: (request, response) => front?.serve(request, response) === true || executions.serve(request, response),
    fastLane:
      config.fastLane === 'off'
        ? undefined
        : (request, exchange) =>
            front?.serveFastLane(request, exchange) === true || executions.serveFastLane(request, exchange),
    connections: front?.connections,
    ...io,
  });
  return {
    life: inOrder('control plane', [
      database,
      step('schema', { up: () => migrate(database, controlPlaneSchema, { release: version, ...io }) }),
      probe,
      bus,
      bootstrapKeys(config, keys, observe),
      authenticator,
      functions.life,
      applications.life,
      collections.life,
      assignments.life,
      recordEvents.life,
      executions.life,
      ...(front?.parts ?? []),
      server,
      executions.afterPort,
    ]),
    announce: () => ({ public: server.url }),
  };
}

/**
 * On one machine (`drover up`) the runtime belongs to the platform, which is not ready without it. A runtime elsewhere that is away
 * is reported, but leaves this process ready for all other calls.
 */
function runtimeHealth({ runtimeUrlFile }: ControlPlaneConfig, discovered: DiscoveredFunctions): PartHealth {
  const health = discovered.health();
  return runtimeUrlFile === undefined ? { ...health, isReady: true } : health;
}

type DatabaseIo = Pick<ConstructorParameters<typeof Database>[0], 'clock' | 'randomness' | 'observe'>;

function openDatabase(config: ControlPlaneConfig, io: DatabaseIo): Database {
  return new Database({
    url: config.databaseUrl,
    applicationName: 'drover control-plane',
    poolSize: config.databasePoolSize,
    limits: {
      statementTimeoutMs: config.databaseStatementTimeoutMs,
      connectTimeoutMs: config.databaseConnectTimeoutMs,
    },
    startWaitMs: config.databaseWaitMs,
    ...io,
  });
}

export const controlPlaneProcess: ProcessDescription<ControlPlaneConfig> = {
  name: 'control-plane',
  parse: parseControlPlaneConfig,
  compose: composeControlPlane,
};
