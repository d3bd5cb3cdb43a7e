import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { DatabaseObservation } from '../observations.js';

/** Dependencies of everything that talks to PostgreSQL. */
export interface DatabaseIo {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<DatabaseObservation>;
}
