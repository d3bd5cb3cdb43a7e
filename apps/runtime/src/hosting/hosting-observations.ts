import type { Readers } from '@drover/service-kit';

export type HostingObservation =
  | { readonly kind: 'hosting.job-host'; readonly jobHost: string; readonly state: string }
  | { readonly kind: 'hosting.open-failed'; readonly jobHost: string; readonly error: unknown }
  | { readonly kind: 'hosting.hosted'; readonly application: string; readonly generation: number }
  | { readonly kind: 'hosting.removed'; readonly application: string };

export const hostingReaders: Readers<HostingObservation> = {
  'hosting.job-host': { level: 'debug', say: (o) => `job host ${o.jobHost} is ${o.state}` },
  'hosting.open-failed': {
    level: 'error',
    say: (o) =>
      `job host ${o.jobHost} could not be opened: ${o.error instanceof Error ? o.error.message : String(o.error)}`,
  },
  'hosting.hosted': {
    level: 'info',
    isInternal: true,
    say: (o) => `hosts ${o.application}, generation ${o.generation}`,
  },
  'hosting.removed': { level: 'info', isInternal: true, say: (o) => `no longer hosts ${o.application}` },
};
