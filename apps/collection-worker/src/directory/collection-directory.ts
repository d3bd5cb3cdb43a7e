import {
  collectionUnknown,
  compileCollection,
  type CollectionModel,
  type CollectionStore,
} from '@drover/collection-engine';
import { collectionChanged, hasCode } from '@drover/contracts';
import { prepared, type Queryable } from '@drover/database';
import type { EventBus, Subscription } from '@drover/event-bus';
import { BoundedMap, nearestName, type Clock, type Lifecycle } from '@drover/service-kit';

export interface CollectionDirectoryOptions {
  readonly store: Pick<CollectionStore, 'find' | 'renamedTo'>;
  readonly database: Queryable;
  readonly bus: Pick<EventBus, 'subscribe'>;
  readonly clock: Clock;
}

/** Which collections of a tenant reference which. */
interface Referrers {
  /** Names of the collections that reference a collection, by its name. */
  readonly byTarget: ReadonlyMap<string, readonly string[]>;
  /** The versions that they were read of. */
  readonly versions: string;
}

interface CurrentVersion {
  readonly id: string;
  readonly name: string;
  readonly version: number;
}

interface Fresh<T> {
  readonly value: T;
  readonly untilMs: number;
}

/** Fields of all models in memory; a model takes about two kilobytes per field. */
const maxFields = 200_000;
const maxTenants = 10_000;
/**
 * Bounds how long a model is used whose change was reported by an event that got lost. Columns and tables that only the version before
 * uses are dropped after a minute.
 */
const cacheMs = 30_000;

const versionsStatement = prepared(
  'collection-directory-versions',
  'select id, name, version from drover.collections where tenant_id = $1',
);
const referrersStatement = prepared(
  'collection-directory-referrers',
  `select distinct c.name, field -> 'references' ->> 'collection' as target
   from drover.collections c
   join drover.collection_versions v on v.collection_id = c.id and v.version = c.version
   cross join lateral jsonb_array_elements(v.definition -> 'fields') field
   where c.tenant_id = $1 and field ? 'references'
   order by c.name`,
);

/**
 * The current models of collections, by tenant and name, and which of them reference which.
 *
 * - What is not in memory is read from the store, so a collection that was just defined is found at once. Unknown names are not
 *   remembered: the next request may come after the definition.
 * - An event about a change removes the model, and the references of its tenant. What was read before the event and arrives after it
 *   is not stored.
 */
export class CollectionDirectory implements Lifecycle {
  readonly name = 'collection directory';
  readonly #options: CollectionDirectoryOptions;
  readonly #models = new BoundedMap<string, Fresh<CollectionModel>>({
    maxWeight: maxFields,
    weigh: ({ value }) => value.fields.size + 1,
    whenFull: 'evict-unused',
  });
  readonly #referrers = new BoundedMap<string, Fresh<Referrers>>({ maxWeight: maxTenants, whenFull: 'evict-unused' });
  /** Reads in progress, which concurrent requests share. */
  readonly #reads = new Map<string, Promise<CollectionModel>>();
  #changes = 0;
  #subscription: Subscription | undefined;

  constructor(options: CollectionDirectoryOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#options.bus.subscribe({
      topics: [collectionChanged],
      from: 'now',
      handle: ({ payload }) => {
        const { collectionId, tenantId } = payload as { readonly collectionId: string; readonly tenantId: string }; // of this topic
        this.#forget(tenantId, ({ id }) => id === collectionId);
      },
      onGap: () => this.#forget(undefined, () => true),
    });
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  /** Returns the model if it is in memory, without waiting. */
  known(tenantId: string, name: string): CollectionModel | undefined {
    return this.#fresh(this.#models.get(keyOf(tenantId, name)));
  }

  /** Rejects with COLLECTION_UNKNOWN. */
  readonly find = (tenantId: string, name: string): Promise<CollectionModel> => {
    const known = this.known(tenantId, name);
    if (known) return Promise.resolve(known);
    const key = keyOf(tenantId, name);
    const running = this.#reads.get(key);
    if (running) return running;
    const read = this.#read(tenantId, name).finally(() => {
      if (this.#reads.get(key) === read) this.#reads.delete(key);
    });
    this.#reads.set(key, read);
    return read;
  };

  /** Returns the collections of a tenant that have a field which references the named one, in the order of their names. */
  readonly findReferrers = async (tenantId: string, name: string): Promise<readonly CollectionModel[]> => {
    const referrers = this.#fresh(this.#referrers.get(tenantId)) ?? (await this.#readReferrers(tenantId));
    const names = referrers.byTarget.get(name) ?? [];
    const found = await Promise.all(names.map((one) => this.#findUnlessRemoved(tenantId, one)));
    return found.filter((model) => model !== undefined);
  };

  /** Compares what is in memory of a tenant with the store, and removes what is not current. Returns whether anything was not. */
  async revalidate(tenantId: string): Promise<boolean> {
    const rows = await this.#readVersions(tenantId);
    const current = new Map(rows.map(({ id, name, version }) => [name, { id, version }]));
    const isStale = (model: CollectionModel | undefined): boolean => {
      if (model?.tenantId !== tenantId) return false;
      const now = current.get(model.name);
      return now?.id !== model.id || now.version !== model.version;
    };
    const referrers = this.#referrers.get(tenantId)?.value;
    const isOutdated =
      [...this.#models.keys()].some((key) => isStale(this.#models.get(key)?.value)) ||
      (referrers !== undefined && referrers.versions !== textOf(rows));
    // Most requests that fail are simply wrong: what is current stays in memory. A read in progress may be of the version before.
    if (isOutdated || this.#reads.size > 0) this.#forget(tenantId, isStale);
    return isOutdated;
  }

  async #read(tenantId: string, name: string): Promise<CollectionModel> {
    const { store, clock } = this.#options;
    const changes = this.#changes;
    const untilMs = clock.monotonicMs() + cacheMs;
    const stored = await store.find(tenantId, name);
    if (!stored) {
      const renamedTo = await store.renamedTo(tenantId, name);
      throw collectionUnknown({ collection: name, similar: await this.#similar(tenantId, name), renamedTo });
    }
    const value = compileCollection(stored);
    if (changes === this.#changes) this.#models.set(keyOf(tenantId, name), { value, untilMs });
    return value;
  }

  async #readReferrers(tenantId: string): Promise<Referrers> {
    const { database, clock } = this.#options;
    const changes = this.#changes;
    const untilMs = clock.monotonicMs() + cacheMs;
    // Before the references: versions that are older than these only cause another read.
    const versions = textOf(await this.#readVersions(tenantId));
    const rows = await database.query<{ name: string; target: string }>(referrersStatement, [tenantId]);
    const byTarget = new Map<string, string[]>();
    for (const { name, target } of rows) byTarget.set(target, [...(byTarget.get(target) ?? []), name]);
    const value = { byTarget, versions };
    if (changes === this.#changes) this.#referrers.set(tenantId, { value, untilMs });
    return value;
  }

  /** A collection may have been removed since its references were read. */
  #findUnlessRemoved(tenantId: string, name: string): Promise<CollectionModel | undefined> {
    return this.find(tenantId, name).catch((error: unknown) => {
      if (hasCode(error, collectionUnknown.code)) return undefined;
      throw error;
    });
  }

  #readVersions(tenantId: string): Promise<CurrentVersion[]> {
    return this.#options.database.query<CurrentVersion>(versionsStatement, [tenantId]);
  }

  async #similar(tenantId: string, name: string): Promise<string | undefined> {
    const rows = await this.#readVersions(tenantId);
    return nearestName(
      name,
      rows.map((row) => row.name),
    );
  }

  #fresh<T>(entry: Fresh<T> | undefined): T | undefined {
    return entry && entry.untilMs > this.#options.clock.monotonicMs() ? entry.value : undefined;
  }

  /** Forgets models, and the references of the tenant, or of all. */
  #forget(tenantId: string | undefined, isStale: (model: CollectionModel) => boolean): void {
    this.#changes += 1;
    // A read that began before the change may return what was there before.
    this.#reads.clear();
    if (tenantId === undefined) this.#referrers.clear();
    else this.#referrers.delete(tenantId);
    for (const key of this.#models.keys()) {
      const entry = this.#models.get(key);
      if (entry && isStale(entry.value)) this.#models.delete(key);
    }
  }
}

const textOf = (rows: readonly CurrentVersion[]): string =>
  rows
    .map(({ id, version }) => `${id} ${version}`)
    .toSorted()
    .join();

/** No name or tenant has the character NUL. */
function keyOf(tenantId: string, name: string): string {
  return `${tenantId}\0${name}`;
}
