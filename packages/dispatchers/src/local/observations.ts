import { count, type Readers } from '@drover/service-kit';
import type { HandlerLogLevel } from './local-messages.js';

interface FunctionLabels {
  readonly tenantId: string;
  readonly function: string;
}

export type LocalObservation =
  | { readonly kind: 'local.enabled'; readonly uid: number | undefined; readonly isPlatformUser: boolean }
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
  'local.enabled': {
    level: (o) => (o.isPlatformUser ? 'warn' : 'info'),
    say: (o) =>
      o.isPlatformUser
        ? `Handlers of the mode LOCAL run as the user of the platform (uid ${o.uid}). Their workers isolate crashes, not access: a handler can read all that the platform can read, keys and the database password among them. Put only code that you trust into DROVER_HANDLERS_DIR, or start Drover as root, which runs handlers as another user (DROVER_FUNCTIONS_USER).`
        : `Handlers of the mode LOCAL run as uid ${o.uid}, without access to the files of the platform. All handlers share that user and the network of this machine.`,
  },
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
