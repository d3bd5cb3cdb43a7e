import pg from 'pg';
import { sleep, type Clock } from '@drover/service-kit';
import { errnoOf } from './file-faults.js';
import { serverPort } from './settings.js';

export interface ServerAddress {
  readonly socketDirectory: string;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export interface UntilReadyOptions {
  readonly address: ServerAddress;
  readonly hasExited: () => boolean;
  /** Called when the server reports that it is starting, which takes long during recovery. */
  readonly onStarting: () => Promise<void>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const retryEveryMs = 20;

/** State of the server, as an attempt to connect shows it. */
export type ConnectOutcome = 'open' | 'closed' | 'starting' | 'no such database' | 'refused';

/** Interprets an error of the driver, whose `code` is a SQLSTATE of the server or an errno name of the system. */
export function connectOutcomeOf(error: unknown): ConnectOutcome {
  const code = errnoOf(error) ?? '';
  if (code === '57P03') return 'starting';
  if (code === '53300') return 'open'; // too many connections: the server is up
  if (code === '3D000') return 'no such database';
  const isState = /^[0-9A-Z]{5}$/.test(code) && /^\d/.test(code);
  if (code === 'EACCES' || (isState && !/^(57|08)/.test(code))) return 'refused';
  return 'closed'; // not listening yet, or the connection broke
}

/**
 * Tries to connect until the server accepts, and creates the database if it does not exist. Has no time limit, because recovery
 * has none. Returns false if the server exits first; throws if it rejects the connection or `signal` aborts.
 */
export async function untilReady(options: UntilReadyOptions): Promise<boolean> {
  const { address, hasExited, onStarting, clock, signal } = options;
  for (;;) {
    signal.throwIfAborted();
    if (hasExited()) return false;
    const outcome = await tryToConnect(address);
    if (outcome === 'open') return true;
    if (outcome === 'no such database') {
      await tryToConnect({ ...address, database: 'postgres' }, async (client) => {
        await client.query(`CREATE DATABASE ${client.escapeIdentifier(address.database)}`);
      });
      continue;
    }
    if (outcome === 'starting') await onStarting();
    await sleep(clock, retryEveryMs, signal);
  }
}

async function tryToConnect(
  address: ServerAddress,
  use?: (client: pg.Client) => Promise<void>,
): Promise<ConnectOutcome> {
  const client = connection(address);
  try {
    await client.connect();
    try {
      await use?.(client);
    } finally {
      await client.end();
    }
    return 'open';
  } catch (error) {
    const outcome = connectOutcomeOf(error);
    if (outcome === 'refused') throw error;
    return outcome;
  }
}

function connection({ socketDirectory, ...rest }: ServerAddress): pg.Client {
  const client = new pg.Client({
    ...rest,
    host: socketDirectory,
    port: serverPort,
    ssl: false, // overrides PGSSLMODE
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => undefined); // the call in progress rejects
  return client;
}
