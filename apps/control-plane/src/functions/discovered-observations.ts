import { gauge, type Readers } from '@drover/service-kit';

export type DiscoveredFunctionsObservation =
  | { readonly kind: 'discovered-functions.listed'; readonly count: number }
  | { readonly kind: 'discovered-functions.unavailable'; readonly reason: string }
  | { readonly kind: 'discovered-functions.forgotten'; readonly count: number };

export const discoveredFunctionsReaders: Readers<DiscoveredFunctionsObservation> = {
  'discovered-functions.listed': {
    level: 'info',
    isInternal: true,
    say: (o) => `the runtime serves ${o.count} functions of deployed applications`,
    metrics: [
      gauge('drover_found_functions', 'Functions of deployed applications that can be called through /v1', {
        value: (o) => o.count,
      }),
    ],
  },
  'discovered-functions.unavailable': {
    level: 'warn',
    say: (o) => `the runtime's list of functions cannot be read: ${o.reason}; the last list stays valid, retrying`,
  },
  'discovered-functions.forgotten': {
    level: 'warn',
    say: (o) =>
      `the runtime has been away for too long: ${o.count} functions of applications were removed from the list`,
  },
};
