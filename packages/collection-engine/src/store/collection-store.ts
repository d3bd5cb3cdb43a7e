import type { CollectionDefinition } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { requirePatternIndexes } from '../storage/pattern-index.js';
import {
  lockTenant,
  publishCollection,
  requireTargets,
  requireVersion,
  type AdmitNames,
} from './catalog-transaction.js';
import {
  collectionStatements as statements,
  toCollection,
  type CatalogedCollection,
  type CollectionRow,
  type CollectionVersion,
} from './collection-rows.js';
import { defaultMaxCollections, insertCollection } from './insert-collection.js';
import { requirePicklists } from './picklist-guard.js';
import { collectionReferenced } from './store-errors.js';

export interface CollectionStoreOptions {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'publish'>;
  /** Most collections of one tenant. */
  readonly maxCollections?: number;
  /** How long tables, columns and indexes stay that workers with the version before still use. */
  readonly cleanupDelayMs?: number;
  readonly admitNames?: AdmitNames | undefined;
}

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

  /** Returns the name that the collection has now which had this name; undefined if there is none. */
  async renamedTo(tenantId: string, formerName: string): Promise<string | undefined> {
    const [row] = await this.#options.database.query<{ name: string }>(statements.renamed, [tenantId, formerName]);
    return row?.name;
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
   * COLLECTION_QUOTA_EXCEEDED, COLLECTION_TARGET_MISSING, COLLECTION_PATTERN_INDEX_UNAVAILABLE or PICKLIST_CHANGED, and what `admitNames` throws.
   */
  async create(
    tenantId: string,
    definitions: readonly CollectionDefinition[],
    actor: string,
  ): Promise<readonly CatalogedCollection[]> {
    const { database, bus, maxCollections = defaultMaxCollections, admitNames } = this.#options;
    await requirePatternIndexes(database, definitions);
    return database.transaction(async (tx) => {
      await lockTenant(tx, tenantId);
      await admitNames?.(
        tx,
        tenantId,
        definitions.map(({ name }) => name),
      );
      await requirePicklists(tx, { tenantId, actor, changed: [], created: definitions });
      const created: CatalogedCollection[] = [];
      for (const definition of definitions) {
        created.push(await insertCollection(tx, { bus, maxCollections }, { tenantId, definition, actor }));
      }
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
}
