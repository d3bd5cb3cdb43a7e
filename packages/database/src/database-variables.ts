import { isCodedError } from '@drover/contracts';
import { integer, milliseconds, secret, VariableProblem, type Secret, type Variable } from '@drover/service-kit';
import { parseDatabaseUrl } from './connection/connection-settings.js';

const raw = secret('DATABASE_URL', {
  about: 'The PostgreSQL that keeps all state. `drover up` starts an embedded one when it is unset.',
});

/** Checked as far as that is possible without connecting; absent when unset. */
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

/** What a process that uses the database can be told. */
export const databaseVariables = {
  databaseUrl: {
    ...databaseUrlVariable,
    read(environment) {
      const url = databaseUrlVariable.read(environment);
      if (!url)
        throw new VariableProblem('DATABASE_URL is not set; name a PostgreSQL, or use "drover up", which brings one');
      return url;
    },
  } satisfies Variable<Secret>,
  databasePoolSize: integer('DROVER_DATABASE_POOL_SIZE', {
    min: 2,
    max: 200,
    default: 10,
    about:
      'Connections of one process for ordinary statements. A few more are kept for notifications and the event relay.',
  }),
  databaseStatementTimeoutMs: milliseconds('DROVER_DATABASE_STATEMENT_TIMEOUT_MS', {
    min: 100,
    default: 30_000,
    about: 'How long one statement may take.',
  }),
};
