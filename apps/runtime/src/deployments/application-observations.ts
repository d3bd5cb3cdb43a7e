import type { Readers } from '@drover/service-kit';

export type ApplicationObservation =
  | { readonly kind: 'application.indexed'; readonly application: string; readonly functions: readonly string[] }
  /** All functions at the start, each as a line for people. */
  | { readonly kind: 'application.functions'; readonly functions: readonly string[] }
  | { readonly kind: 'application.problem'; readonly application: string; readonly problem: string }
  | { readonly kind: 'application.reloaded'; readonly application: string }
  | { readonly kind: 'application.not-reloaded'; readonly application: string; readonly problem: string }
  | { readonly kind: 'application.warning'; readonly application: string; readonly problem: string }
  | {
      readonly kind: 'application.traffic';
      readonly application: string;
      readonly weights: Readonly<Record<string, number>>;
    };

export const applicationReaders: Readers<ApplicationObservation> = {
  'application.indexed': {
    level: 'info',
    isInternal: true,
    say: (o) => `${o.application} has ${o.functions.length} functions: ${o.functions.join(', ')}`,
  },
  'application.functions': { level: 'info', say: (o) => ['Functions:', ...o.functions].join('\n    ') },
  'application.problem': { level: 'error', say: (o) => `${o.application}: ${o.problem}` },
  'application.reloaded': { level: 'info', say: (o) => `${o.application} was reloaded and serves its new version` },
  'application.not-reloaded': {
    level: 'error',
    say: (o) => `${o.application} was not reloaded, its old version goes on. The new one does not run: ${o.problem}`,
  },
  'application.warning': { level: 'warn', say: (o) => `${o.application}: ${o.problem}` },
  'application.traffic': { level: 'debug', say: (o) => `traffic of ${o.application}: ${JSON.stringify(o.weights)}` },
};
