import {
  collectionUnknown,
  compileCollection,
  type CollectionModel,
  type CollectionStore,
} from '@drover/collection-engine';
import { collectionChanged } from '@drover/contracts';
import { prepared, type Queryable } from '@drover/database';
import type { EventBus, Subscription } from '@drover/event-bus';
import { BoundedMap, nearestName, type Clock, type Lifecycle } from '@drover/service-kit';

export interface CollectionDirectoryOptions {
  readonly store: Pick<CollectionStore, 'find'>;
  readonly database: Queryable;
  readonly bus: Pick<EventBus, 'subscribe'>;
  readonly clock: Clock;
}

interface Entry {
  readonly model: CollectionModel;
  readonly untilMs: number;
}

/** Fields of all models in memory; a model takes about two kilobytes per field. */
const maxFields = 200_000;
/**
 * Bounds how long a model is used whose change was reported by an event that got lost. Columns and tables that only the version before
 * uses are dropped after a minute.
 */
const cacheMs = 30_000;

const versionsStatement = prepared(
  'collection-directory-versions',
  'select id, name, version from drover.collections where tenant_id = $1',
);

/**
 * The current models of collections, by tenant and name.
 *
 * - A collection that is not in memory is read from the store, so one that was just defined is found at once. Unknown names are not
 *   remembered: the next request may come after the definition.
 * - An event about a change removes the model. A model that was read before the event and arrives after it is not stored.
 */
export class CollectionDirectory implements Lifecycle {
  readonly name = 'collection directory';
  readonly #options: CollectionDirectoryOptions;
  readonly #models = new BoundedMap<string, Entry>({
    maxWeight: maxFields,
    weigh: ({ model }) => model.fields.size + 1,
    whenFull: 'evict-unused',
  });
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
        const { collectionId } = payload as { readonly collectionId: string }; // of this topic
        this.#forget(({ model }) => model.id === collectionId);
      },
      onGap: () => void this.#forget(() => true),
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
    const entry = this.#models.get(keyOf(tenantId, name));
    return entry && entry.untilMs > this.#options.clock.monotonicMs() ? entry.model : undefined;
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

  /** Compares the models of a tenant with the store, and removes those that are not current. Returns whether there were any. */
  async revalidate(tenantId: string): Promise<boolean> {
    const rows = await this.#options.database.query<{ id: string; name: string; version: number }>(versionsStatement, [
      tenantId,
    ]);
    const current = new Map(rows.map(({ id, name, version }) => [keyOf(tenantId, name), { id, version }]));
    return this.#forget(({ model }) => {
      if (model.tenantId !== tenantId) return false;
      const now = current.get(keyOf(tenantId, model.name));
      return now?.id !== model.id || now.version !== model.version;
    });
  }

  async #read(tenantId: string, name: string): Promise<CollectionModel> {
    const { store, clock } = this.#options;
    const changes = this.#changes;
    const untilMs = clock.monotonicMs() + cacheMs;
    const stored = await store.find(tenantId, name);
    if (!stored) throw collectionUnknown({ collection: name, similar: await this.#similar(tenantId, name) });
    const model = compileCollection(stored);
    if (changes === this.#changes) this.#models.set(keyOf(tenantId, name), { model, untilMs });
    return model;
  }

  async #similar(tenantId: string, name: string): Promise<string | undefined> {
    const rows = await this.#options.database.query<{ name: string }>(versionsStatement, [tenantId]);
    return nearestName(
      name,
      rows.map((row) => row.name),
    );
  }

  /** Returns whether a model was removed. */
  #forget(isStale: (entry: Entry) => boolean): boolean {
    this.#changes += 1;
    // A read that began before the change may return what was there before.
    this.#reads.clear();
    let hasForgotten = false;
    for (const key of this.#models.keys()) {
      const entry = this.#models.get(key);
      if (entry && isStale(entry)) hasForgotten = this.#models.delete(key) || hasForgotten;
    }
    return hasForgotten;
  }
}

/** No name or tenant has the character NUL. */
function keyOf(tenantId: string, name: string): string {
  return `${tenantId}\0${name}`;
}
