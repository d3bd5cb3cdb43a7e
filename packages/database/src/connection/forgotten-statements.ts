import type pg from 'pg';

/** What the driver remembers of the prepared statements of a connection; its types do not have it. */
interface Remembering {
  readonly connection?: { readonly parsedStatements?: Record<string, string> };
}

/**
 * Drops prepared statements that are not used any more from all connections of a pool: from each before its next use, when no other
 * statement runs on it. Connections that are never used again are closed by the pool.
 */
export class ForgottenStatements {
  /** Names that a connection still has to drop. */
  readonly #pending = new Map<pg.PoolClient, Set<string>>();

  constructor(pool: pg.Pool) {
    pool.on('connect', (client) => void this.#pending.set(client, new Set()));
    pool.on('remove', (client) => void this.#pending.delete(client));
    pool.on('acquire', (client) => this.#drop(client));
  }

  forget(name: string): void {
    for (const [client, names] of this.#pending) {
      if (Object.hasOwn(preparedOf(client), name)) names.add(name);
    }
  }

  #drop(client: pg.PoolClient): void {
    const names = this.#pending.get(client);
    if (!names || names.size === 0) return;
    const prepared = preparedOf(client);
    // The driver prepares a statement again only if it does not remember it.
    for (const name of names) delete prepared[name];
    const statements = [...names].map((name) => `deallocate "${name.replaceAll('"', '""')}"`);
    names.clear();
    // Runs before what the connection was acquired for. Fails only with the connection, which that reports.
    client.query(statements.join('; ')).catch(() => undefined);
  }
}

const preparedOf = (client: pg.PoolClient): Record<string, string> =>
  (client as Remembering).connection?.parsedStatements ?? {};
