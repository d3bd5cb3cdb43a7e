import { defineError } from '@drover/contracts';

export const databaseUrlInvalid = defineError<{ problem: string }>('DATABASE_URL_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) =>
    `DATABASE_URL ${d.problem}; set it to postgres://user:password@host:5432/database, or unset it to use the embedded server`,
  help: '`DATABASE_URL` is not a PostgreSQL URL. Correct it, or unset it to use the embedded PostgreSQL.',
});

export const databaseUnavailable = defineError<{ server: string; reason: string }>('DATABASE_UNAVAILABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `PostgreSQL at ${d.server} is unavailable: ${d.reason}. Check that the server runs and that DATABASE_URL names it.`,
  help: 'PostgreSQL is down, overloaded or restarting. Drover reconnects by itself; if this lasts, check the server and `DATABASE_URL`. Raise `DROVER_DATABASE_CONNECT_TIMEOUT_MS` if connections are only slow.',
});

export const databaseAccessDenied = defineError<{ server: string; reason: string }>('DATABASE_ACCESS_DENIED', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) =>
    `PostgreSQL at ${d.server} denied access: ${d.reason}. Check user and password in DATABASE_URL, and pg_hba.conf on the server.`,
  help: 'PostgreSQL rejected the user or password of `DATABASE_URL`, or the user lacks a privilege. Correct the URL or the grants on the server.',
});

export const databaseMissing = defineError<{ server: string; reason: string }>('DATABASE_MISSING', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) =>
    `PostgreSQL at ${d.server} rejected the connection: ${d.reason}. Create the database (CREATE DATABASE …) or name another one in DATABASE_URL.`,
  help: 'The server has no database of that name. Create it, or correct `DATABASE_URL`.',
});

export const databaseTooOld = defineError<{ server: string; version: string; oldest: string }>('DATABASE_TOO_OLD', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) =>
    `PostgreSQL at ${d.server} is version ${d.version}. Upgrade it to ${d.oldest} or newer, or unset DATABASE_URL to use the embedded server.`,
  help: 'The version of PostgreSQL is not supported. Upgrade the server, or unset `DATABASE_URL` to use the embedded one.',
});

export const databaseFull = defineError<{ server: string; reason: string }>('DATABASE_FULL', {
  fault: 'platform',
  retryable: true,
  status: 507,
  message: (d) => `PostgreSQL at ${d.server} has no disk space left: ${d.reason}. Free disk space on that server.`,
  help: 'The disk of the database server is full. No data is lost; free disk space and writes succeed again.',
});

export const databaseTimeout = defineError<{ server: string; reason: string }>('DATABASE_TIMEOUT', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `PostgreSQL at ${d.server} exceeded a time limit: ${d.reason}. Look for long transactions, or raise DROVER_DATABASE_STATEMENT_TIMEOUT_MS.`,
  help: 'A statement or a lock took longer than its limit. Look for long transactions, or raise `DROVER_DATABASE_STATEMENT_TIMEOUT_MS`.',
});

export const transactionConflict = defineError<{ attempts: number }>('DATABASE_CONFLICT', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `The transaction conflicted with others ${d.attempts} times in a row. Try again with fewer concurrent writers.`,
  help: 'Too many concurrent transactions change the same rows. Try again with fewer at a time.',
});

export const ingestFull = defineError<{ name: string; capacity: number; unit: 'rows' | 'bytes' }>(
  'DATABASE_INGEST_FULL',
  {
    fault: 'platform',
    retryable: true,
    status: 503,
    message: (d) =>
      `The write queue "${d.name}" is full: ${d.capacity} ${d.unit} wait for the database. Try again shortly.`,
    help: 'Rows arrive faster than the database commits them. Reduce the rate and try again.',
  },
);

export const schemaNewer = defineError<{ component: string; found: number; known: number; by: string }>(
  'DATABASE_SCHEMA_NEWER',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) =>
      `The database has schema ${d.found} of ${d.component}, written by Drover ${d.by}; this version supports up to ${d.known}. ` +
      `Run Drover ${d.by} or newer, or use another database.`,
    help: 'A newer Drover has migrated the database. Run that version or a newer one, or restore a backup from before the migration.',
  },
);

export const migrationChanged = defineError<{ component: string; number: number; name: string }>(
  'DATABASE_MIGRATION_CHANGED',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) =>
      `Migration ${d.number} (${d.name}) of ${d.component} was applied with other contents than this version contains. ` +
      `Run the release that created this database.`,
    help: 'A migration was edited after it had been applied. Run an unmodified release.',
  },
);

export const migrationFailed = defineError<{ component: string; number: number; name: string; reason: string }>(
  'DATABASE_MIGRATION_FAILED',
  {
    fault: 'platform',
    retryable: false,
    status: 503,
    message: (d) =>
      `Migration ${d.number} (${d.name}) of ${d.component} failed and was rolled back: ${d.reason}. ` +
      `Correct the cause and start again.`,
    help: 'A schema migration failed and changed nothing. Correct the cause in the message (often a missing privilege or a table of the same name) and start again.',
  },
);

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
};
