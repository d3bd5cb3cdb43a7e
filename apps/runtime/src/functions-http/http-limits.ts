import { corsVariables, edgeVariables, type PortLimits } from '@drover/http-edge';
import { integer } from '@drover/service-kit';

/** What the port for functions accepts from its callers. */
export interface FunctionsPortLimits extends PortLimits {
  readonly bodyBytes: number;
  /** Of a body that is not streamed: it goes to its worker in one message. */
  readonly bufferedBodyBytes: number;
  /** Of all requests in flight together. */
  readonly heldBodyBytes: number;
  /** Between two parts of a body. */
  readonly bodyIdleMs: number;
  /** Between two parts of a request or an answer that is proxied to or from a worker. */
  readonly streamIdleMs: number;
}

/** Those of Azure Functions where it has them (head, body, streams); the rest as in docs/decisions/0006, wider for uploads. */
export const functionsPortLimits: FunctionsPortLimits = {
  headerBytes: 32_768,
  headers: 100,
  addressBytes: 8_192,
  bodyBytes: 104_857_600,
  bufferedBodyBytes: 133_169_152,
  heldBodyBytes: 536_870_912,
  firstByteMs: 5_000,
  headersMs: 15_000,
  requestMs: 600_000,
  writeMs: 30_000,
  bodyIdleMs: 30_000,
  streamIdleMs: 240_000,
  keepAliveMs: 65_000,
  checkEveryMs: 1_000,
  connections: 10_000,
  connectionsPerClient: 5_000,
  reservedConnections: 512,
};

export const functionsHttpVariables = {
  ...edgeVariables,
  ...corsVariables,
  portConnections: integer('DROVER_RUNTIME_MAX_CONNECTIONS', {
    min: 1,
    max: 1_000_000,
    default: functionsPortLimits.connections,
    about: 'Open connections of the HTTP server. Health probes are answered beyond that.',
  }),
  portConnectionsPerClient: integer('DROVER_RUNTIME_MAX_CONNECTIONS_PER_CLIENT', {
    min: 1,
    max: 1_000_000,
    default: functionsPortLimits.connectionsPerClient,
    about:
      'How many of them one client may have: one IPv4 address, or one IPv6 network of 64 bits. All requests through the public port are one client.',
  }),
};
