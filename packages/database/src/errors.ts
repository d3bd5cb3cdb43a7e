import { defineError } from '@drover/contracts';

export const databaseUrlInvalid = defineError<{ problem: string }>('DATABASE_URL_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) =>
    `DATABASE_URL ${d.problem}; it must look like postgres://user:password@host:5432/database, or be unset for the embedded server`,
  help: 'Correct `DATABASE_URL`, or unset it to use the embedded PostgreSQL.',
});

export const databaseUnavailable = defineError<{ server: string; reason: string }>('DATABASE_UNAVAILABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `PostgreSQL at ${d.server} cannot be used: ${d.reason}; check that it runs and that DATABASE_URL names it`,
  help: 'PostgreSQL is away, overloaded or restarting. Drover goes on by itself once it is back.',
});

export const databaseAccessDenied = defineError<{ server: string; reason: string }>('DATABASE_ACCESS_DENIED', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) =>
    `PostgreSQL at ${d.server} refuses us: ${d.reason}; check user, password and pg_hba.conf for DATABASE_URL`,
  help: 'User or password of `DATABASE_URL` are not accepted, or lack a right: correct them on either side.',
});

export const databaseMissing = defineError<{ server: string; reason: string }>('DATABASE_MISSING', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) => `${d.reason} at ${d.server}; create it (CREATE DATABASE …) or name another one in DATABASE_URL`,
  help: 'The server has no database of that name: create it, or correct `DATABASE_URL`.',
});

export const databaseTooOld = defineError<{ server: string; version: string; oldest: string }>('DATABASE_TOO_OLD', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) => `PostgreSQL at ${d.server} is version ${d.version}; Drover needs ${d.oldest} or newer`,
  help: 'Upgrade the server, or unset `DATABASE_URL` to use the embedded one.',
});

export const databaseFull = defineError<{ server: string; reason: string }>('DATABASE_FULL', {
  fault: 'platform',
  retryable: true,
  status: 507,
  message: (d) => `PostgreSQL at ${d.server} has no room left: ${d.reason}; free disk space there`,
  help: "The database server's disk is full: nothing is lost, writes succeed again once there is room.",
});

export const databaseTimeout = defineError<{ server: string; reason: string }>('DATABASE_TIMEOUT', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `PostgreSQL at ${d.server} took too long: ${d.reason}`,
  help: 'A statement or lock took longer than its limit: look for long transactions, or raise the limit.',
});

export const transactionConflict = defineError<{ attempts: number }>('DATABASE_CONFLICT', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `the transaction met a conflicting one ${d.attempts} times in a row`,
  help: 'Many writers change the same thing at once: try again, with fewer at a time.',
});

export const ingestFull = defineError<{ name: string; capacity: number }>('DATABASE_INGEST_FULL', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `${d.name}: ${d.capacity} rows already wait for the database; try again in a moment`,
  help: 'Rows arrive faster than the database commits them: slow down, then try again.',
});

export const schemaNewer = defineError<{ component: string; found: number; known: number; by: string }>(
  'DATABASE_SCHEMA_NEWER',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) =>
      `the database has schema ${d.found} of ${d.component}, written by Drover ${d.by}; this Drover knows ${d.known}: run that version or a newer one, or use another database`,
    help: 'The database was used by a newer Drover: run that version, or restore a backup from before.',
  },
);

export const migrationChanged = defineError<{ component: string; number: number; name: string }>(
  'DATABASE_MIGRATION_CHANGED',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) =>
      `migration ${d.number} (${d.name}) of ${d.component} was applied with other contents than this Drover has: run the release that made this database`,
    help: 'An applied migration was edited afterwards: run an unmodified release.',
  },
);

export const migrationFailed = defineError<{ component: string; number: number; name: string; reason: string }>(
  'DATABASE_MIGRATION_FAILED',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) =>
      `migration ${d.number} (${d.name}) of ${d.component} failed: ${d.reason}; the database is as it was before, correct that and start again`,
    help: 'Nothing was changed: remove what the message names (often a missing right or a table of the same name) and start again.',
  },
);

export const leaseLost = defineError<{ lease: string; token: number }>('DATABASE_LEASE_LOST', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `lease ${d.lease} with token ${d.token} belongs to somebody else by now`,
  help: 'Another process took over: this one must not write any more on behalf of the lease. It recovers by itself.',
});

export const databaseErrors = {
  databaseUrlInvalid,
  databaseUnavailable,
  databaseAccessDenied,
  databaseMissing,
  databaseTooOld,
  databaseFull,
  databaseTimeout,
  transactionConflict,
  ingestFull,
  schemaNewer,
  migrationChanged,
  migrationFailed,
  leaseLost,
};
