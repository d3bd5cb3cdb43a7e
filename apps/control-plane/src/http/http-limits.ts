/** What one HTTP port takes from strangers. */
export interface HttpLimits {
  /** Address, names and values of all headers together. */
  readonly headerBytes: number;
  readonly headers: number;
  readonly addressBytes: number;
  /** From the first byte of a connection, or of its next request, until the headers are complete. */
  readonly headersMs: number;
  /** The same until the body is complete. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
  /** Between two looks at who is too slow: a connection may live this much longer than its limit. */
  readonly checkEveryMs: number;
  readonly connections: number;
}

/** Limits that need no setting. (docs/decisions/0006) */
export const shippedLimits: HttpLimits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  headersMs: 15_000,
  requestMs: 30_000,
  keepAliveMs: 5_000,
  checkEveryMs: 1_000,
  connections: 1_000,
};
