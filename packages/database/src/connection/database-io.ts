import type { Clock, Observe, Randomness } from '@drover/service-kit';
import type { DatabaseObservation } from '../observations.js';

/** What everything that talks to PostgreSQL needs from its process. */
export interface DatabaseIo {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<DatabaseObservation>;
}
