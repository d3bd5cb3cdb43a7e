import { count, type Readers } from '@drover/service-kit';
import type { HandlerLogLevel } from './local-messages.js';

interface FunctionLabels {
  readonly tenantId: string;
  readonly function: string;
}

export type LocalObservation =
  | ({ readonly kind: 'local.opened' } & FunctionLabels)
  | ({ readonly kind: 'local.closed'; readonly reason: string } & FunctionLabels)
  | ({ readonly kind: 'local.crashed'; readonly text: string } & FunctionLabels)
  | ({ readonly kind: 'local.stuck' } & FunctionLabels)
  | ({ readonly kind: 'local.useless'; readonly text: string } & FunctionLabels)
  | ({
      readonly kind: 'local.line';
      readonly level: HandlerLogLevel;
      readonly text: string;
      readonly executionId: string | undefined;
    } & FunctionLabels);

export const localReaders: Readers<LocalObservation> = {
  'local.opened': { level: 'debug', say: (o) => `function ${o.function} gets a pool of workers` },
  'local.closed': { level: 'debug', say: (o) => `the workers of function ${o.function} are ended: ${o.reason}` },
  'local.crashed': {
    level: 'warn',
    say: (o) => `function ${o.function}: ${o.text}`,
    metrics: [count('drover_local_worker_crashes_total', 'Calls whose LOCAL worker died while it ran them')],
  },
  'local.stuck': {
    level: 'warn',
    say: (o) => `function ${o.function}: a cancelled call blocked the event loop of its worker, which was killed`,
    metrics: [count('drover_local_worker_stuck_total', 'LOCAL workers killed because their event loop was blocked')],
  },
  'local.useless': { level: 'warn', say: (o) => `function ${o.function} has no worker: ${o.text}` },
  'local.line': { level: (o) => o.level, say: (o) => `${o.function}: ${o.text}` },
};
