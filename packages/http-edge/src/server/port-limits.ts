import type { ServerOptions } from 'node:http';

/** What one HTTP port accepts from its clients. */
export interface PortLimits {
  /** Request line and headers together. */
  readonly headerBytes: number;
  readonly headers: number;
  readonly addressBytes: number;
  /** From the first byte of a connection, or of its next request, until the headers are complete. */
  readonly headersMs: number;
  /** The same until the body is complete. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
  /** Between two checks for slow connections: one may live this much longer than its limit. */
  readonly checkEveryMs: number;
  readonly connections: number;
}

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
