import {
  integer,
  milliseconds,
  optionalText,
  optionalUrl,
  parseConfiguration,
  type Configuration,
  type Environment,
} from '@drover/service-kit';

export const gatewayVariables = {
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
  maxWorkerRequests: integer('DROVER_GATEWAY_WORKER_REQUESTS', {
    min: 1,
    max: 100_000,
    default: 1_024,
    about: 'Requests that may be in flight to one collection worker; more are answered with 503 at once.',
  }),
};

export type GatewayConfig = Configuration<typeof gatewayVariables>;

export function parseGatewayConfig(environment: Environment): GatewayConfig {
  return parseConfiguration('gateway', gatewayVariables, environment);
}
