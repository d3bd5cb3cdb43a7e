/** What the port for functions takes from strangers. */
export interface HttpLimits {
  /** Address, names and values of all headers together. */
  readonly headerBytes: number;
  readonly headers: number;
  readonly addressBytes: number;
  readonly bodyBytes: number;
  /** Of all requests that are on their way, together. */
  readonly heldBodyBytes: number;
  /** From the first byte of a connection, or of its next request, until the headers are complete. */
  readonly headersMs: number;
  /** The same until the body is complete. */
  readonly requestMs: number;
  /** Between two pieces of a body. */
  readonly bodyIdleMs: number;
  /** Between two pieces of a request or an answer that is passed on to or from a worker. */
  readonly streamIdleMs: number;
  readonly keepAliveMs: number;
  /** Between two looks at who is too slow. */
  readonly checkEveryMs: number;
  readonly connections: number;
}

/** Those of the original where it has one (head, body, streams); the rest as in docs/decisions/0006, wider for uploads. */
export const shippedLimits: HttpLimits = {
  headerBytes: 32_768,
  headers: 100,
  addressBytes: 8_192,
  bodyBytes: 104_857_600,
  heldBodyBytes: 536_870_912,
  headersMs: 15_000,
  requestMs: 600_000,
  bodyIdleMs: 30_000,
  streamIdleMs: 240_000,
  keepAliveMs: 65_000,
  checkEveryMs: 1_000,
  connections: 10_000,
};
