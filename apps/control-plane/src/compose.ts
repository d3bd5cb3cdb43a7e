import { Database, DatabaseProbe, migrate } from '@drover/database';
import { PostgresEventBus } from '@drover/event-bus';
import {
  createObserve,
  inOrder,
  registerComputed,
  step,
  type Composition,
  type ProcessDescription,
  type ProcessIo,
} from '@drover/service-kit';
import { apiKeyHandlers } from './api/api-key-handlers.js';
import { ApiKeyStore } from './access/api-key-store.js';
import { Authenticator } from './access/authenticator.js';
import { bootstrapKey } from './access/bootstrap-key.js';
import { composeInvocations } from './compose-invocations.js';
import { parseControlPlaneConfig, type ControlPlaneConfig } from './config.js';
import { HttpServer, type HttpServerOptions } from './http/http-server.js';
import { RequestFigures, requestMetrics } from './http/request-figures.js';
import { controlPlaneReaders } from './observations.js';
import { controlPlaneSchema } from './schema.js';
import { openApiHandler, statusHandlers } from './api/status-handlers.js';
import { version } from './version.js';

/** Another server on the same port, asked before the control plane. */
export interface PortFront {
  readonly serve: NonNullable<HttpServerOptions['front']>;
  readonly serveFastLane: NonNullable<HttpServerOptions['fastLane']>;
}

export function composeControlPlane(
  config: ControlPlaneConfig,
  { sinks, health, clock, randomness }: ProcessIo,
  front?: PortFront,
): Composition {
  const observe = createObserve(controlPlaneReaders, sinks);
  const io = { clock, randomness, observe };
  const database = new Database({
    url: config.databaseUrl,
    applicationName: 'drover control-plane',
    poolSize: config.databasePoolSize,
    limits: { statementTimeoutMs: config.databaseStatementTimeoutMs, connectTimeoutMs: 2_000 },
    ...io,
  });
  const schema = step('schema', {
    up: () => migrate(database, controlPlaneSchema, { release: version, ...io }),
  });
  const probe = new DatabaseProbe(database, clock);
  health.addCheck('database', () => probe.problem());
  const bus = new PostgresEventBus({ database, retentionMs: config.eventRetentionMs, ...io });
  const keys = new ApiKeyStore(database, bus);
  const authenticator = new Authenticator(keys, bus, clock);
  const figures = new RequestFigures();
  registerComputed(
    sinks.metrics,
    requestMetrics(() => figures),
  );
  const isEnding = (): boolean => health.state === 'draining';
  const invocations = composeInvocations(config, {
    database,
    bus,
    authenticator,
    sinks,
    url: () => server.url,
    isEnding,
    figures,
    ...io,
  });
  const handlers = [
    ...statusHandlers({ version, database, bus, health, metrics: sinks.metrics, clock }),
    ...apiKeyHandlers({ store: keys, authenticator, ...io }),
    ...invocations.handlers,
  ];
  const routes = [...handlers.map(({ route }) => route), ...invocations.routes];
  const server: HttpServer = new HttpServer({
    host: config.host,
    port: config.port,
    bodyLimitBytes: config.bodyLimitBytes,
    handlers: [...handlers, openApiHandler(version, routes)],
    authenticator,
    figures,
    isEnding,
    front: (request, response) => front?.serve(request, response) === true || invocations.front(request, response),
    fastLane: (request, exchange) =>
      front?.serveFastLane(request, exchange) === true || invocations.fastLane(request, exchange),
    ...io,
  });
  const bootstrap = config.bootstrapKeyFile === undefined ? [] : [bootstrapKey(config.bootstrapKeyFile, keys, observe)];
  return {
    life: inOrder('control plane', [
      database,
      schema,
      probe,
      bus,
      ...bootstrap,
      authenticator,
      invocations.before,
      server,
      invocations.after,
    ]),
    announce: () => ({ public: server.url }),
  };
}

export const controlPlaneProcess: ProcessDescription<ControlPlaneConfig> = {
  name: 'control-plane',
  parse: parseControlPlaneConfig,
  compose: composeControlPlane,
};
