import { createTestDatabase, quietIo } from '@drover/database/testing';
import { describe, expect, it } from 'vitest';
import { triggerStoreContract } from '../testing/trigger-store-contract.js';
import { openPostgresStore } from './postgres-trigger-store.js';

const never = new AbortController().signal;

triggerStoreContract('PostgreSQL', async () => {
  const database = await createTestDatabase();
  const opened: { readonly close: () => Promise<void> }[] = [];
  return {
    open: async () => {
      const one = await openPostgresStore({ url: database.url, release: 'test', ...quietIo });
      opened.push(one);
      return one.store;
    },
    close: async () => {
      await Promise.all(opened.map((one) => one.close()));
      await database.drop();
    },
  };
});

describe('a store in PostgreSQL', () => {
  it('creates its table once, also when many runtimes start together', async () => {
    const database = await createTestDatabase();
    const options = { url: database.url, release: 'test', ...quietIo };
    const opened = await Promise.all(Array.from({ length: 5 }, () => openPostgresStore(options)));
    try {
      const writes = await Promise.all(opened.map(({ store }) => store.write('k', 'v', undefined, never)));
      expect(writes.filter((version) => version !== undefined)).toHaveLength(1);
    } finally {
      await Promise.all(opened.map(({ close }) => close()));
      await database.drop();
    }
  });

  it('survives the loss of all its connections', async () => {
    const database = await createTestDatabase();
    const { store, close } = await openPostgresStore({ url: database.url, release: 'test', ...quietIo });
    const other = await database.connect();
    try {
      const version = await store.write('k', 'v', undefined, never);
      await other.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      );
      // At most the statement that finds the connection broken fails.
      const found = await store.read('k', never).catch(() => store.read('k', never));
      expect(found).toEqual({ key: 'k', value: 'v', version });
    } finally {
      await close();
      await database.drop();
    }
  });
});
