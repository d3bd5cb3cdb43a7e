import { defaultRecordLimits } from '@drover/collection-engine';
import { databaseVariables } from '@drover/database';
import { corsRule, corsVariables, edgeVariables, publicPortLimits, type PortLimits } from '@drover/http-edge';
import {
  integer,
  milliseconds,
  optionalText,
  optionalUrl,
  parseConfiguration,
  port,
  text,
  type Configuration,
  type Environment,
} from '@drover/service-kit';

export const gatewayVariables = {
  ...corsVariables,
  runtimeUrl: optionalUrl('DROVER_RUNTIME_URL', {
    about: 'Where the runtime is called over HTTP: it gets every path that is not of the platform itself.',
  }),
  runtimeUrlFile: optionalText('DROVER_RUNTIME_URL_FILE', {
    about:
      'A file that holds that address once the runtime is there: neither waits for the other. `drover up` sets it.',
  }),
  collectionWorkerUrl: optionalUrl('DROVER_COLLECTION_WORKER_URL', {
    about:
      'Where a collection worker that does not register is called over HTTP: it gets `/api/{collection}` of every collection while no worker has registered.',
  }),
  collectionWorkerUrlFile: optionalText('DROVER_COLLECTION_WORKER_URL_FILE', {
    about: 'A file that holds that address once the collection worker is there. `drover up` sets it.',
  }),
  holdMs: milliseconds('DROVER_GATEWAY_HOLD_MS', {
    min: 0,
    max: 600_000,
    default: 30_000,
    about:
      'How long a request waits while no runtime, or no collection worker, accepts connections; then it is answered with 503. 0: not at all.',
  }),
  maxHeldRequests: integer('DROVER_GATEWAY_HELD_REQUESTS', {
    min: 0,
    max: 1_000_000,
    default: 1_000,
    about:
      'Requests that may wait for a runtime, and as many for a collection worker; more are answered with 503 at once.',
  }),
  responseTimeoutMs: milliseconds('DROVER_GATEWAY_RESPONSE_TIMEOUT_MS', {
    min: 0,
    max: 3_600_000,
    default: 120_000,
    about:
      'How long a request to a collection worker may wait for its answer to begin; then it is answered with 504. 0: without an end. Uploads have as long as they need.',
  }),
  recordsBodyBytes: integer('DROVER_RECORDS_BODY_LIMIT_BYTES', {
    min: 1,
    max: 268_435_456,
    default: defaultRecordLimits.bodyBytes,
    about:
      'Maximum size of the body of a request for records; imports have none. Collection workers have the same variable.',
  }),
  maxWorkerRequests: integer('DROVER_GATEWAY_WORKER_REQUESTS', {
    min: 1,
    max: 100_000,
    default: 1_024,
    about: 'Requests that may be in flight to one collection worker; more are answered with 503 at once.',
  }),
  gatewayZone: optionalText('DROVER_GATEWAY_ZONE', {
    about: 'Zone of the gateway: of the workers of a collection, those with the same `WORKER_ZONE` are preferred.',
  }),
  workerSocketDirectory: optionalText('DROVER_WORKER_SOCKET_DIR', {
    about:
      'Directory of the Unix sockets of collection workers on this machine, which the gateway prefers to their ports. Collection workers have the same variable. `drover up` sets it.',
  }),
  stickyRequests: integer('DROVER_GATEWAY_STICKY_REQUESTS', {
    min: 0,
    max: 100_000,
    default: 0,
    about:
      'Requests that the preferred worker of a collection may have in flight beyond another one before that one gets some: together they cost less CPU time. 0: 32 on machines with one or two cores, which the workers share, and 8 on larger ones, where a second worker has a core of its own.',
  }),
};

export type GatewayConfig = Configuration<typeof gatewayVariables>;

export function parseGatewayConfig(environment: Environment): GatewayConfig {
  return parseConfiguration('gateway', gatewayVariables, environment, [corsRule]);
}

/** The limit of its statements is fixed: it only looks up keys and routes. */
const { databaseStatementTimeoutMs: _fixed, ...databaseVariablesOfGateway } = databaseVariables;

/** Of a gateway with a process of its own; in `drover up` the control plane has the port and the database. */
export const gatewayProcessVariables = {
  ...databaseVariablesOfGateway,
  gatewayHost: text('DROVER_GATEWAY_HOST', { default: '127.0.0.1', about: 'Address of the public port.' }),
  gatewayPort: port('DROVER_GATEWAY_PORT', { default: 7080, about: 'The public port; 0 for any free one.' }),
  ...edgeVariables,
  gatewayConnections: integer('DROVER_GATEWAY_MAX_CONNECTIONS', {
    min: 1,
    max: 1_000_000,
    default: publicPortLimits.connections,
    about: 'Open connections of the public port. Health probes are answered beyond that.',
  }),
  gatewayConnectionsPerClient: integer('DROVER_GATEWAY_MAX_CONNECTIONS_PER_CLIENT', {
    min: 1,
    max: 1_000_000,
    default: publicPortLimits.connectionsPerClient,
    about:
      'How many of them one client may have. Raise it behind a proxy, whose connections all come from one address.',
  }),
  controlPlaneUrl: optionalUrl('CONTROL_PLANE_URL', {
    about:
      'Where the control plane is called over HTTP: it gets every path of the platform itself, such as `/control` and `/v1`.',
  }),
  controlPlaneUrlFile: optionalText('CONTROL_PLANE_URL_FILE', {
    about: 'A file that holds that address once the control plane is there.',
  }),
  ...gatewayVariables,
};

export type GatewayProcessConfig = Configuration<typeof gatewayProcessVariables>;

export function parseGatewayProcessConfig(environment: Environment): GatewayProcessConfig {
  return parseConfiguration('gateway', gatewayProcessVariables, environment, [corsRule]);
}

export function gatewayPortLimits(config: GatewayProcessConfig): PortLimits {
  return {
    ...publicPortLimits,
    writeMs: config.writeTimeoutMs,
    connections: config.gatewayConnections,
    connectionsPerClient: config.gatewayConnectionsPerClient,
  };
}
