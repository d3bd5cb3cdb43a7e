import pg from 'pg';
import { sleep, type Clock } from '@drover/service-kit';
import { errnoOf } from './file-faults.js';
import { serverPort } from './settings.js';

export interface Address {
  readonly socketDirectory: string;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export interface UntilReadyOptions {
  readonly address: Address;
  readonly hasExited: () => boolean;
  /** The server answers that it is still starting, as it does for long while it recovers. */
  readonly onStarting: () => Promise<void>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const knockEveryMs = 20;

/** What the answer to an attempt to connect says about the server. */
export type Answer = 'open' | 'closed' | 'starting' | 'no such database' | 'refused';

/** Reads an error of the driver, which has SQLSTATEs from the server and errno names from the system in one property. */
export function answerIn(error: unknown): Answer {
  const code = errnoOf(error) ?? '';
  if (code === '57P03') return 'starting';
  if (code === '53300') return 'open'; // so open that every seat is taken
  if (code === '3D000') return 'no such database';
  const isState = /^[0-9A-Z]{5}$/.test(code) && /^\d/.test(code);
  if (code === 'EACCES' || (isState && !/^(57|08)/.test(code))) return 'refused';
  return 'closed'; // nobody listens yet, or the connection broke
}

/**
 * Knocks until the server lets us into the database, making that first when it is not there yet. Takes as long as the
 * server lives and the signal allows, since recovery may. False when the server exited first; throws what it refuses with.
 */
export async function untilReady(options: UntilReadyOptions): Promise<boolean> {
  const { address, hasExited, onStarting, clock, signal } = options;
  for (;;) {
    signal.throwIfAborted();
    if (hasExited()) return false;
    const answer = await knock(address);
    if (answer === 'open') return true;
    if (answer === 'no such database') {
      await knock({ ...address, database: 'postgres' }, async (client) => {
        await client.query(`CREATE DATABASE ${client.escapeIdentifier(address.database)}`);
      });
      continue;
    }
    if (answer === 'starting') await onStarting();
    await sleep(clock, knockEveryMs, signal);
  }
}

async function knock(address: Address, use?: (client: pg.Client) => Promise<void>): Promise<Answer> {
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
    const answer = answerIn(error);
    if (answer === 'refused') throw error;
    return answer;
  }
}

function connection({ socketDirectory, ...rest }: Address): pg.Client {
  const client = new pg.Client({
    ...rest,
    host: socketDirectory,
    port: serverPort,
    ssl: false, // not left to PGSSLMODE
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => undefined); // the promise of the call in progress tells
  return client;
}
