import type { PortLimits } from '@drover/http-edge';

/** The limits of the public port, which are not configurable. (docs/decisions/0006) */
export const publicPortLimits: PortLimits = {
  headerBytes: 16_384,
  headers: 100,
  addressBytes: 8_192,
  headersMs: 15_000,
  requestMs: 30_000,
  keepAliveMs: 5_000,
  checkEveryMs: 1_000,
  connections: 1_000,
};
