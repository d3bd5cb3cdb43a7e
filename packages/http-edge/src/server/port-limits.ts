import type { ServerOptions } from 'node:http';
import { milliseconds, oneOf } from '@drover/service-kit';

/** What one HTTP port accepts from its clients. */
export interface PortLimits {
  /** Request line and headers together. */
  readonly headerBytes: number;
  readonly headers: number;
  readonly addressBytes: number;
  /** From opening a connection until its first byte. */
  readonly firstByteMs: number;
  /** From the first byte of a connection, or of its next request, until the headers are complete. */
  readonly headersMs: number;
  /** The same until the body is complete. */
  readonly requestMs: number;
  /** How long a client may take no byte of an answer that waits for it. */
  readonly writeMs: number;
  readonly keepAliveMs: number;
  /** Between two checks for slow connections: one may live this much longer than its limit. */
  readonly checkEveryMs: number;
  readonly connections: number;
  /** Of one client: one IPv4 address, or one IPv6 network of 64 bits. */
  readonly connectionsPerClient: number;
  /** Beyond both numbers: connections on which only health probes are answered. */
  readonly reservedConnections: number;
}

/** The limits of a port for clients of the platform; those of connections are configurable. (docs/decisions/0006, 0020) */
export const publicPortLimits: PortLimits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  firstByteMs: 5_000,
  headersMs: 15_000,
  requestMs: 30_000,
  writeMs: 30_000,
  keepAliveMs: 5_000,
  checkEveryMs: 1_000,
  connections: 4_000,
  connectionsPerClient: 1_000,
  reservedConnections: 512,
};

/** Returns the limits as options of Node's server. A missing Host header is left to the caller, whose errors have our shape. */
export function serverOptions(limits: PortLimits): ServerOptions {
  return {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    requireHostHeader: false,
  };
}

/** The variables that all ports of a machine share. */
export const edgeVariables = {
  fastLane: oneOf('DROVER_FAST_LANE', ['on', 'off'], {
    default: 'on',
    about:
      "Whether plain HTTP requests are parsed by the fast lane in front of Node's server. `off`: Node's server parses all of them, which takes more CPU.",
  }),
  writeTimeoutMs: milliseconds('DROVER_WRITE_TIMEOUT_MS', {
    min: 1_000,
    max: 3_600_000,
    default: 30_000,
    about: 'Closes the connection of a client that takes no byte of its answer for so long.',
  }),
};
