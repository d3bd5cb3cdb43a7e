import { randomUUID } from 'node:crypto';
import type { CollectionDefinition } from '@drover/contracts';
import { isUniqueViolation, type Database, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { compileCollection } from '../model/compile-collection.js';
import { chooseColumns, chooseTable } from '../storage/choose-names.js';
import { createStorage } from '../storage/create-storage.js';
import { lockTenant, publishCollection, requireTargets, requireVersion } from './catalog-transaction.js';
import {
  collectionStatements as statements,
  toCollection,
  type CatalogedCollection,
  type CollectionRow,
  type CollectionVersion,
} from './collection-rows.js';
import { collectionExists, collectionQuotaExceeded, collectionReferenced } from './store-errors.js';

export interface CollectionStoreOptions {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'publish'>;
  /** Most collections of one tenant. */
  readonly maxCollections?: number;
  /** How long tables, columns and indexes stay that workers with the version before still use. */
  readonly cleanupDelayMs?: number;
}

const defaultMaxCollections = 200;

/** Bounds how long a worker may use a definition that is not current any more. Events reach workers within milliseconds. */
export const defaultCleanupDelayMs = 60_000;

/**
 * The definitions of collections. Every change publishes `collectionChanged` in its transaction. Definitions have been checked by the
 * caller; what depends on other collections of the tenant is checked again here, under the lock of the tenant.
 */
export class CollectionStore {
  readonly #options: CollectionStoreOptions;

  constructor(options: CollectionStoreOptions) {
    this.#options = options;
  }

  async find(tenantId: string, name: string): Promise<CatalogedCollection | undefined> {
    const [row] = await this.#options.database.query<CollectionRow>(statements.find, [tenantId, name]);
    return row && toCollection(row);
  }

  /** Returns the collections of a tenant, or of all tenants, ordered by name. */
  async list(tenantId?: string): Promise<readonly CatalogedCollection[]> {
    const { database } = this.#options;
    const rows = await (tenantId === undefined
      ? database.query<CollectionRow>(statements.listAll)
      : database.query<CollectionRow>(statements.list, [tenantId]));
    return rows.map(toCollection);
  }

  /** Returns the versions of a collection, the newest first; none if it is unknown. */
  async versions(tenantId: string, name: string): Promise<readonly CollectionVersion[]> {
    const rows = await this.#options.database.query<{
      version: number;
      definition: CollectionDefinition;
      created_at: Date;
      created_by: string;
    }>(statements.versions, [tenantId, name]);
    return rows.map((row) => ({
      version: row.version,
      definition: row.definition,
      createdAt: row.created_at,
      createdBy: row.created_by,
    }));
  }

  /**
   * Creates collections with their tables and indexes: all or none. They may refer to each other. Throws COLLECTION_EXISTS,
   * COLLECTION_QUOTA_EXCEEDED or COLLECTION_TARGET_MISSING.
   */
  create(
    tenantId: string,
    definitions: readonly CollectionDefinition[],
    actor: string,
  ): Promise<readonly CatalogedCollection[]> {
    return this.#options.database.transaction(async (tx) => {
      await lockTenant(tx, tenantId);
      const created: CatalogedCollection[] = [];
      for (const definition of definitions) created.push(await this.#insert(tx, tenantId, definition, actor));
      for (const definition of definitions) await requireTargets(tx, tenantId, definition);
      return created;
    });
  }

  /**
   * Removes a collection: workers learn it at once, its table is dropped later. Returns false if it is unknown. Throws
   * COLLECTION_REFERENCED or COLLECTION_VERSION_MISMATCH.
   */
  remove(tenantId: string, name: string, expectedVersion?: number): Promise<boolean> {
    const { database, bus, cleanupDelayMs = defaultCleanupDelayMs } = this.#options;
    return database.transaction(async (tx) => {
      await lockTenant(tx, tenantId);
      const [row] = await tx.query<CollectionRow>(statements.find, [tenantId, name]);
      if (!row) return false;
      requireVersion(toCollection(row), expectedVersion);
      const by = await tx.query<{ name: string }>(statements.referring, [tenantId, name]);
      if (by.length > 0) throw collectionReferenced({ collection: name, by: by.map((other) => other.name) });
      await tx.query(statements.remove, [row.id]);
      await tx.query(statements.scheduleCleanup, [row.table_name, row.id, cleanupDelayMs]);
      await publishCollection(bus, tx, { ...toCollection(row), version: row.version + 1 }, true);
      return true;
    });
  }

  async #insert(
    tx: Transaction,
    tenantId: string,
    definition: CollectionDefinition,
    actor: string,
  ): Promise<CatalogedCollection> {
    const { bus, maxCollections = defaultMaxCollections } = this.#options;
    const id = randomUUID();
    const table = chooseTable(definition);
    const columns = chooseColumns(definition);
    const { name } = definition;
    const values = [
      id,
      tenantId,
      name,
      actor,
      maxCollections,
      JSON.stringify(definition),
      table,
      JSON.stringify(columns),
    ];
    const inserted = await tx.query(statements.insert, values).catch((error: unknown) => {
      throw isUniqueViolation(error) ? collectionExists({ collection: name }, error) : error;
    });
    if (inserted.length === 0) throw collectionQuotaExceeded({ limit: maxCollections });
    const collection = { id, tenantId, version: 1, definition, table, columns };
    await tx.query(createStorage(compileCollection(collection)).render().text);
    await publishCollection(bus, tx, collection, false);
    const [row] = await tx.query<CollectionRow>(statements.findById, [id]);
    if (!row) throw new Error('the collection that was inserted is missing');
    return toCollection(row);
  }
}
