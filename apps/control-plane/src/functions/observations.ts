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
      readonly kind: 'function.clean-up-failed';
      readonly tenantId: string;
      readonly name: string;
      readonly error: unknown;
    };

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
  'function.clean-up-failed': {
    level: 'error',
    say: (o) => `function ${o.name} of tenant ${o.tenantId} was removed, but the clean-up failed: ${String(o.error)}`,
  },
};
