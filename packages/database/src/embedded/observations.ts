import { count, seconds, type Readers } from '@drover/service-kit';

/** What the embedded PostgreSQL says about itself. */
export type EmbeddedPostgresObservation =
  | { readonly kind: 'postgres.moved'; readonly from: string; readonly to: string; readonly reason: string }
  | { readonly kind: 'postgres.copying-binaries'; readonly to: string; readonly reason: string }
  | { readonly kind: 'postgres.left-behind'; readonly pid: number }
  | { readonly kind: 'postgres.creating-cluster'; readonly cluster: string }
  | { readonly kind: 'postgres.starting'; readonly cluster: string; readonly version: string }
  | { readonly kind: 'postgres.recovering'; readonly cluster: string }
  | { readonly kind: 'postgres.waiting'; readonly cluster: string }
  | { readonly kind: 'postgres.ready'; readonly pid: number; readonly durationMs: number }
  | {
      readonly kind: 'postgres.lost';
      readonly pid: number;
      readonly exitCode: number | null;
      readonly signal: string | null;
    }
  | { readonly kind: 'postgres.restarting'; readonly attempt: number; readonly delayMs: number }
  | { readonly kind: 'postgres.restart-failed'; readonly attempt: number; readonly reason: string }
  | { readonly kind: 'postgres.stopped'; readonly durationMs: number };

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export const embeddedPostgresReaders: Readers<EmbeddedPostgresObservation> = {
  'postgres.moved': {
    level: 'warn',
    say: (o) => `the database lives in ${o.to} instead of ${o.from}, because ${o.reason}`,
  },
  'postgres.copying-binaries': {
    level: 'info',
    say: (o) => `copying the PostgreSQL binaries to ${o.to}, because ${o.reason}`,
  },
  'postgres.left-behind': {
    level: 'warn',
    say: (o) => `ending the PostgreSQL that an earlier run left behind (process ${o.pid})`,
  },
  'postgres.creating-cluster': {
    level: 'info',
    say: (o) => `creating the database in ${o.cluster}; only the first start does this and it takes some seconds`,
  },
  'postgres.starting': {
    level: 'info',
    say: (o) => `starting PostgreSQL ${o.version} on ${o.cluster}`,
  },
  'postgres.recovering': {
    level: 'warn',
    say: (o) =>
      `the database in ${o.cluster} was not shut down properly: it recovers from its log, nothing committed is lost`,
  },
  'postgres.waiting': {
    level: 'info',
    say: (o) => `waiting for the last processes of the previous server on ${o.cluster} to end`,
  },
  'postgres.ready': {
    level: 'info',
    say: (o) => `PostgreSQL is ready after ${inSeconds(o.durationMs)} (process ${o.pid})`,
    metrics: [
      seconds('drover_postgres_start_seconds', 'How long the embedded PostgreSQL took to get ready', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'postgres.lost': {
    level: 'error',
    say: (o) => `PostgreSQL (process ${o.pid}) ended by itself with ${o.signal ?? `exit code ${o.exitCode}`}`,
    metrics: [count('drover_postgres_lost_total', 'How often the embedded PostgreSQL ended by itself')],
  },
  'postgres.restarting': {
    level: 'info',
    say: (o) => `starting PostgreSQL again in ${inSeconds(o.delayMs)} (try ${o.attempt})`,
  },
  'postgres.restart-failed': {
    level: 'error',
    say: (o) => `PostgreSQL did not come back (try ${o.attempt}): ${o.reason}`,
  },
  'postgres.stopped': {
    level: 'info',
    say: (o) => `PostgreSQL stopped in ${inSeconds(o.durationMs)}`,
  },
};
