import { count, seconds, type Readers } from '@drover/service-kit';

/** Events of the embedded PostgreSQL. */
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
  | { readonly kind: 'postgres.told-to-stop'; readonly pid: number }
  | { readonly kind: 'postgres.not-watched'; readonly reason: string }
  | { readonly kind: 'postgres.restarting'; readonly attempt: number; readonly delayMs: number }
  | { readonly kind: 'postgres.restart-failed'; readonly attempt: number; readonly reason: string }
  | { readonly kind: 'postgres.stopped'; readonly durationMs: number };

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export const embeddedPostgresReaders: Readers<EmbeddedPostgresObservation> = {
  'postgres.moved': {
    level: 'warn',
    say: (o) => `the database is stored in ${o.to} instead of ${o.from}, because ${o.reason}`,
  },
  'postgres.copying-binaries': {
    level: 'info',
    say: (o) => `the PostgreSQL binaries are being copied to ${o.to}, because ${o.reason}`,
  },
  'postgres.left-behind': {
    level: 'warn',
    say: (o) => `PostgreSQL of an earlier run (process ${o.pid}) is still running and is being stopped`,
  },
  'postgres.creating-cluster': {
    level: 'info',
    say: (o) =>
      `a new database is being created in ${o.cluster}; this happens on the first start only and takes a few seconds`,
  },
  'postgres.starting': {
    level: 'info',
    isInternal: true,
    say: (o) => `PostgreSQL ${o.version} is starting on ${o.cluster}`,
  },
  'postgres.recovering': {
    level: 'warn',
    say: (o) =>
      `the database in ${o.cluster} was not shut down cleanly and recovers from its log; no committed data is lost`,
  },
  'postgres.waiting': {
    level: 'info',
    say: (o) => `PostgreSQL waits for processes of the previous server on ${o.cluster} to exit`,
  },
  'postgres.ready': {
    level: 'info',
    isInternal: true,
    say: (o) => `PostgreSQL is ready after ${inSeconds(o.durationMs)} (process ${o.pid})`,
    metrics: [
      seconds('drover_postgres_start_seconds', 'Time from the start of the embedded PostgreSQL until it is ready', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'postgres.lost': {
    level: 'error',
    say: (o) => `PostgreSQL (process ${o.pid}) exited unexpectedly with ${o.signal ?? `exit code ${o.exitCode}`}`,
    metrics: [count('drover_postgres_lost_total', 'Unexpected exits of the embedded PostgreSQL')],
  },
  'postgres.told-to-stop': {
    level: 'warn',
    say: (o) =>
      `PostgreSQL (process ${o.pid}) was told to shut down; its clients are disconnected and it starts again. Stop Drover to stop it`,
  },
  'postgres.not-watched': {
    level: 'warn',
    say: (o) => `a shutdown of PostgreSQL by a signal would not be noticed: ${o.reason}`,
  },
  'postgres.restarting': {
    level: 'info',
    say: (o) => `PostgreSQL restarts in ${inSeconds(o.delayMs)} (attempt ${o.attempt})`,
  },
  'postgres.restart-failed': {
    level: 'error',
    say: (o) => `PostgreSQL did not restart (attempt ${o.attempt}): ${o.reason}`,
  },
  'postgres.stopped': {
    level: 'info',
    isInternal: true,
    say: (o) => `PostgreSQL stopped in ${inSeconds(o.durationMs)}`,
  },
};
