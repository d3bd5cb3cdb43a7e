import type { Randomness } from '@drover/service-kit';
import type { StreamingOptions } from './streamed-invocation.js';
import type { BodyLimits } from './functions-wire.js';

/** What serving a function needs, whether it is called by its route or by the control plane. */
export interface ServeOptions extends StreamingOptions {
  readonly randomness: Randomness;
  readonly bodies: BodyLimits;
  readonly trustsForwarded: boolean;
  readonly trustsClientPrincipal: boolean;
}
