import { count, type Readers } from '@drover/service-kit';
import type { LogLevel } from './local-messages.js';

interface OfFunction {
  readonly tenantId: string;
  readonly function: string;
}

export type LocalObservation =
  | ({ readonly kind: 'local.opened' } & OfFunction)
  | ({ readonly kind: 'local.closed'; readonly reason: string } & OfFunction)
  | ({ readonly kind: 'local.crashed'; readonly text: string } & OfFunction)
  | ({ readonly kind: 'local.stuck' } & OfFunction)
  | ({ readonly kind: 'local.useless'; readonly text: string } & OfFunction)
  | ({
      readonly kind: 'local.line';
      readonly level: LogLevel;
      readonly text: string;
      readonly executionId: string | undefined;
    } & OfFunction);

export const localReaders: Readers<LocalObservation> = {
  'local.opened': { level: 'debug', say: (o) => `function ${o.function} gets workers of its own` },
  'local.closed': { level: 'debug', say: (o) => `the workers of function ${o.function} end: ${o.reason}` },
  'local.crashed': {
    level: 'warn',
    say: (o) => `function ${o.function}: ${o.text}`,
    metrics: [count('drover_local_worker_crashes_total', 'Calls whose LOCAL worker died while it ran them')],
  },
  'local.stuck': {
    level: 'warn',
    say: (o) => `function ${o.function}: a handler computed on after its time, and its worker was ended`,
    metrics: [count('drover_local_worker_stuck_total', 'LOCAL workers ended because their loop stood still')],
  },
  'local.useless': { level: 'warn', say: (o) => `function ${o.function} has no worker: ${o.text}` },
  'local.line': { level: (o) => o.level, say: (o) => `${o.function}: ${o.text}` },
};
