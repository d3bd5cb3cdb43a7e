import { isCodedError } from '@drover/contracts';
import { integer, milliseconds, secret, VariableProblem, type Secret, type Variable } from '@drover/service-kit';
import { defaultSessionLimits, parseDatabaseUrl } from './connection/connection-settings.js';

const raw = secret('DATABASE_URL', {
  about: 'URL of the PostgreSQL database that stores all state. Unset: `drover up` starts an embedded PostgreSQL.',
});

/** Validated as far as possible without connecting; undefined if unset. */
export const databaseUrlVariable: Variable<Secret | undefined> = {
  ...raw,
  expects: 'postgres://user:password@host:port/database',
  read(environment) {
    const url = raw.read(environment);
    try {
      if (url) parseDatabaseUrl(url);
      return url;
    } catch (error) {
      throw isCodedError(error) ? new VariableProblem(error.message) : error;
    }
  },
};

/** Variables of a process that uses the database. */
export const databaseVariables = {
  databaseUrl: {
    ...databaseUrlVariable,
    read(environment) {
      const url = databaseUrlVariable.read(environment);
      if (!url)
        throw new VariableProblem('DATABASE_URL is not set; set it, or run "drover up", which starts a PostgreSQL');
      return url;
    },
  } satisfies Variable<Secret>,
  databasePoolSize: integer('DROVER_DATABASE_POOL_SIZE', {
    min: 2,
    max: 200,
    default: 10,
    about: 'Connections of one process for ordinary statements. Notifications and the event relay use a few more.',
  }),
  databaseWaitMs: milliseconds('DROVER_DATABASE_WAIT_MS', {
    default: 60_000,
    about:
      'Time that a starting process waits for a PostgreSQL that cannot be reached. It waits without a limit for one that is starting or recovering.',
  }),
  databaseConnectTimeoutMs: milliseconds('DROVER_DATABASE_CONNECT_TIMEOUT_MS', {
    min: 100,
    default: defaultSessionLimits.connectTimeoutMs,
    about: 'Time limit on waiting for a connection, a new one or one from the pool. Requests get 503 after it.',
  }),
  databaseStatementTimeoutMs: milliseconds('DROVER_DATABASE_STATEMENT_TIMEOUT_MS', {
    min: 100,
    default: defaultSessionLimits.statementTimeoutMs,
    about: 'Time limit of one statement.',
  }),
};
