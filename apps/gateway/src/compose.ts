import { ApiKeyStore, Authenticator } from '@drover/collection-engine';
import { awaitSchema, Database } from '@drover/database';
import { PostgresEventBus } from '@drover/event-bus';
import { corsPolicyOf, probes, toErrorAnswer } from '@drover/http-edge';
import {
  createObserve,
  inOrder,
  step,
  type Composition,
  type Lifecycle,
  type ProcessDescription,
  type ProcessIo,
} from '@drover/service-kit';
import { composeCollectionFront } from './compose-collection-front.js';
import { gatewayPortLimits, parseGatewayProcessConfig, type GatewayProcessConfig } from './config.js';
import { controlPlaneAbsent, controlPlaneBroke, controlPlaneUnreachable } from './errors.js';
import { gatewayReaders } from './observations.js';
import { FunctionProxy } from './proxy/function-proxy.js';
import { Upstream } from './proxy/upstream.js';
import { GatewayServer } from './server/gateway-server.js';

const statementTimeoutMs = 10_000;

/**
 * The composition root of a gateway with a process of its own. Its port opens when the routes are loaded. After that it serves without
 * the control plane, and without PostgreSQL what its workers can serve and the keys that it has seen: so neither is a readiness check. Nor
 * are the collection workers: another gateway would not reach them either, and functions are served without them.
 */
function composeGateway(config: GatewayProcessConfig, io: ProcessIo): Composition {
  const { sinks, health, clock, randomness } = io;
  const observe = createObserve(gatewayReaders, sinks);
  const parts = { clock, randomness, observe };
  const database = new Database({
    url: config.databaseUrl,
    applicationName: 'drover gateway',
    poolSize: config.databasePoolSize,
    limits: { statementTimeoutMs, connectTimeoutMs: config.databaseConnectTimeoutMs },
    startWaitMs: config.databaseWaitMs,
    ...parts,
  });
  const bus = new PostgresEventBus({ database, ...parts });
  const authenticator = new Authenticator(new ApiKeyStore(database, bus), bus, clock);
  const functions = new FunctionProxy({ ...config, cors: corsPolicyOf(config), clock, randomness });
  const controlPlane = new Upstream({
    ...config,
    url: config.controlPlaneUrl,
    urlFile: config.controlPlaneUrlFile,
    clock,
    randomness,
    toAnswer: toErrorAnswer,
    errors: {
      absent: () => controlPlaneAbsent({}),
      unreachable: (reason) => controlPlaneUnreachable({ reason }),
      brokeOff: (reason) => controlPlaneBroke({ reason }),
    },
  });
  const collections = composeCollectionFront(config, io, { database, bus, authenticator, functions });
  health.addPart(() => ({ ...collections.health(), isReady: true }));
  const server = new GatewayServer({
    host: config.gatewayHost,
    port: config.gatewayPort,
    limits: gatewayPortLimits(config),
    hasFastLane: config.fastLane === 'on',
    proxy: collections.proxy,
    controlPlane,
    serveProbe: probes({ health, metrics: sinks.metrics }),
    ...parts,
  });
  const held: Lifecycle = {
    ...step('control plane', { down: () => controlPlane.stop() }),
    drain: async () => controlPlane.drain(),
  };
  return {
    life: inOrder('gateway', [
      database,
      awaitSchema({
        isThere: () => hasRouteTables(database),
        clock,
        onWait: () => observe({ kind: 'gateway.schema-awaited' }),
      }),
      bus,
      authenticator,
      functions,
      held,
      ...collections.parts,
      server,
    ]),
    announce: () => ({ public: server.url }),
  };
}

/** Whether the control plane has created the tables of routes, its last ones. */
async function hasRouteTables(database: Database): Promise<boolean> {
  const [row] = await database.query<{ exists: boolean }>(
    `select to_regclass('drover.collection_routes') is not null as exists`,
  );
  return row?.exists === true;
}

export const gatewayProcess: ProcessDescription<GatewayProcessConfig> = {
  name: 'gateway',
  parse: parseGatewayProcessConfig,
  compose: composeGateway,
};
