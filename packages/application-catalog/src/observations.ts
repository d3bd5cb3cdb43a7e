import { count, type Readers } from '@drover/service-kit';

export type CatalogObservation =
  | {
      readonly kind: 'rollback.done';
      /** `tenant/application`. */
      readonly application: string;
      readonly reason: string;
      readonly traffic: Readonly<Record<string, number>>;
    }
  | {
      readonly kind: 'rollback.failed';
      readonly application: string;
      readonly reason: string;
      readonly error: unknown;
    };

export const catalogReaders: Readers<CatalogObservation> = {
  'rollback.done': {
    level: 'warn',
    say: (o) => `${o.application} was rolled back to ${JSON.stringify(o.traffic)}: ${o.reason}`,
    metrics: [
      count('drover_automatic_rollbacks_total', 'Versions of applications that lost their traffic by themselves'),
    ],
  },
  'rollback.failed': {
    level: 'error',
    say: (o) => `${o.application} was not rolled back although it should be (${o.reason}): ${String(o.error)}`,
    maxLines: { perSecond: 1, by: (o) => o.application },
  },
};
