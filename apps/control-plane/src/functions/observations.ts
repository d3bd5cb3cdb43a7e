import { count, type Readers } from '@drover/service-kit';

export type FunctionObservation =
  | {
      readonly kind: 'function.changed';
      readonly tenantId: string;
      readonly name: string;
      readonly generation: number;
      readonly revision: number;
      readonly change: 'registered' | 'changed' | 'removed';
    }
  | {
      readonly kind: 'function.change-unheard';
      readonly tenantId: string;
      readonly name: string;
      readonly error: unknown;
    }
  | {
      readonly kind: 'function.queue-changed';
      readonly tenantId: string;
      readonly name: string;
      readonly state: string;
      readonly isRemoving: boolean;
    }
  | { readonly kind: 'function.removal-failed'; readonly error: unknown };

export const functionReaders: Readers<FunctionObservation> = {
  'function.changed': {
    level: 'info',
    say: (o) => `function ${o.name} of tenant ${o.tenantId} was ${o.change}`,
    metrics: [
      count('drover_function_changes_total', 'Functions registered, changed and removed', {
        labelNames: ['change'],
        labels: (o) => ({ change: o.change }),
      }),
    ],
  },
  'function.change-unheard': {
    level: 'warn',
    say: (o) =>
      `a change of function ${o.name} of tenant ${o.tenantId} did not reach all listeners in this process: ${String(o.error)}`,
  },
  'function.queue-changed': {
    level: 'info',
    say: (o) =>
      `the queue of function ${o.name} of tenant ${o.tenantId} is ${o.state}${o.isRemoving ? '; the function is removed when it is empty' : ''}`,
  },
  'function.removal-failed': {
    level: 'warn',
    say: (o) => `a function whose queue is drained could not be removed: ${String(o.error)}; it is tried again`,
  },
};
