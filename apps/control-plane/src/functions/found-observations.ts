import { gauge, type Readers } from '@drover/service-kit';

export type FoundFunctionsObservation =
  | { readonly kind: 'found-functions.listed'; readonly count: number }
  | { readonly kind: 'found-functions.unavailable'; readonly reason: string }
  | { readonly kind: 'found-functions.forgotten'; readonly count: number };

export const foundFunctionsReaders: Readers<FoundFunctionsObservation> = {
  'found-functions.listed': {
    level: 'info',
    say: (o) => `the runtime serves ${o.count} functions of applications`,
    metrics: [
      gauge('drover_found_functions', 'Functions of deployed applications that can be called through /v1', {
        value: (o) => o.count,
      }),
    ],
  },
  'found-functions.unavailable': {
    level: 'warn',
    say: (o) => `the runtime does not say which functions it serves: ${o.reason}`,
  },
  'found-functions.forgotten': {
    level: 'warn',
    say: (o) => `the runtime has been away for too long: ${o.count} functions of applications are no longer listed`,
  },
};
