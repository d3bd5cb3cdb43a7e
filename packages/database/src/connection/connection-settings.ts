import type { Secret } from '@drover/service-kit';
import pg from 'pg';
import { databaseUrlInvalid } from '../errors.js';

/** A validated database URL. */
export interface ConnectionSettings {
  readonly url: Secret;
  /** Server and database without the credentials, for messages. */
  readonly server: string;
}

/** Validates a database URL as far as possible without connecting. */
export function parseDatabaseUrl(url: Secret): ConnectionSettings {
  const raw = url.reveal();
  if (!URL.canParse(raw)) throw databaseUrlInvalid({ problem: 'is not a URL' });
  const { protocol, hostname, port, pathname, searchParams } = new URL(raw);
  if (protocol !== 'postgres:' && protocol !== 'postgresql:') {
    throw databaseUrlInvalid({ problem: `begins with ${protocol}//` });
  }
  const host = searchParams.get('host') ?? hostname;
  if (host === '') throw databaseUrlInvalid({ problem: 'names no host' });
  if (pathname === '' || pathname === '/') throw databaseUrlInvalid({ problem: 'names no database' });
  const address = host.startsWith('/') ? host : `${host}:${port || '5432'}`;
  return { url, server: `${address}${pathname}` };
}

export interface SessionLimits {
  /** Limit on one statement, lock waits included. */
  readonly statementTimeoutMs: number;
  /** Limit on waiting for a connection, a new one or one from the pool. */
  readonly connectTimeoutMs: number;
}

export const defaultSessionLimits: SessionLimits = { statementTimeoutMs: 30_000, connectTimeoutMs: 2_000 };

/**
 * Our statements are short, and compiling one costs more than it saves: with a stock server's `jit=on` the sessions that read the event log
 * used a third of a core, 33 times as much as without.
 */
const sessionOptions = '-c jit=off';

/** Adds our session options to those of a URL, which come later and so win; the driver would take only the URL's. */
function connectionStringOf(url: Secret): Pick<pg.ClientConfig, 'connectionString' | 'options'> {
  const parsed = new URL(url.reveal());
  const theirs = parsed.searchParams.get('options');
  if (theirs === null) return { connectionString: url.reveal(), options: sessionOptions };
  parsed.searchParams.set('options', `${sessionOptions} ${theirs}`);
  return { connectionString: parsed.href };
}

/** Returns the driver's configuration for one connection. */
export function clientConfig(
  { url }: ConnectionSettings,
  limits: SessionLimits,
  applicationName: string,
): pg.ClientConfig {
  return {
    ...connectionStringOf(url),
    application_name: applicationName,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    statement_timeout: limits.statementTimeoutMs,
    // A server that is stopped or cut off never reports its own timeout, so the client has a slightly longer one.
    query_timeout: limits.statementTimeoutMs + 5_000,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    types: { getTypeParser },
  };
}

const int8: number = pg.types.builtins.INT8;

/** The driver's parsers, except that 64-bit integers become numbers: positions and counters stay far below 2^53. */
export const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid: number, format?: 'text' | 'binary') =>
  // oxlint-disable-next-line typescript/no-unsafe-return, typescript/no-unsafe-enum-assignment -- the driver types parsers as any
  oid === int8 && format !== 'binary' ? parseInt8 : pg.types.getTypeParser(oid, format);

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the 64-bit integer ${text} does not fit into a number`);
  return value;
}
