import { Secret } from '@drover/service-kit';
import pg from 'pg';
import { defaultSessionLimits, type SessionLimits } from '../connection/connection-settings.js';

/** On a busy machine a connection may take seconds. Tests of outages set limits of their own. */
export const patientLimits: SessionLimits = { ...defaultSessionLimits, connectTimeoutMs: 60_000 };

/** The URL of a database on the server of `url`. */
export function databaseOn(url: string, name: string): Secret {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return new Secret(other.href);
}

/** Runs `use` with a connection of its own. */
export async function onServer<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
