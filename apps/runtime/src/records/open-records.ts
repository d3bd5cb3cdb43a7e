import {
  changeJson,
  collectionMigrations,
  collectionUnknown,
  CollectionStore,
  compileCollection,
  countRecordEvents,
  eventsSwitchedOff,
  RecordEventTail,
  type CollectionModel,
  type RecordEvent,
} from '@drover/collection-engine';
import { Database, migrate } from '@drover/database';
import { BoundedMap, type Clock, type Secret } from '@drover/service-kit';
import type { CollectionRecords, RecordChange } from '@drover/trigger-sources';
import type { OpenRecords, RuntimeRecordsOptions } from './runtime-records.js';

const poolSize = 4;
const limits = { statementTimeoutMs: 10_000, connectTimeoutMs: 2_000 };
/** How long a definition is used after it was read: triggers and bindings see a change that late. */
const definitionMs = 1_000;
/** The checkpoint of a function moves on this often also without changes of its collection. */
const idleMs = 30_000;

/** Connects to the database of the collections. Outages are observed by the users of what it returns. */
export async function openRecords({
  url,
  clock,
  randomness,
}: RuntimeRecordsOptions & { readonly url: Secret }): Promise<OpenRecords> {
  const io = { clock, randomness, observe: () => undefined };
  const database = new Database({ url, applicationName: 'drover runtime records', poolSize, limits, ...io });
  const tail = new RecordEventTail({ database, ...io });
  try {
    await database.start();
    await migrate(database, [collectionMigrations], { release: 'runtime', ...io });
    await tail.start();
  } catch (error) {
    await tail.stop();
    await database.stop();
    throw error;
  }
  const definitions = new Definitions(database, clock);
  return {
    of: (tenantId) => tenantRecords(tenantId, { database, tail, definitions }),
    close: async () => {
      await tail.stop();
      await database.stop();
    },
  };
}

interface Parts {
  readonly database: Database;
  readonly tail: RecordEventTail;
  readonly definitions: Definitions;
}

function tenantRecords(tenantId: string, { database, tail, definitions }: Parts): CollectionRecords {
  return {
    tenantId,
    position: () => tail.position(),
    async *follow(name, after, signal) {
      const { id } = await withEvents(definitions.find(tenantId, name));
      for await (const batch of tail.follow({ collectionIds: [id], after, signal, idleMs })) {
        const current = await withEvents(definitions.find(tenantId, name));
        // Removed and defined again: the caller follows the new one from its last position.
        if (current.id !== id) return;
        const changes = batch.events.map((event) => toChange(current, event));
        yield { changes, upTo: batch.upTo, isTrimmed: batch.isTrimmed && !current.hasHistory };
      }
    },
    async count(name, after, limit) {
      const { id: collectionId } = await definitions.find(tenantId, name);
      const { events, oldest } = await countRecordEvents(database, { collectionId, after, limit });
      return { changes: events, oldestAtMs: oldest?.getTime() };
    },
  };
}

function toChange(collection: CollectionModel, event: RecordEvent): RecordChange {
  const { id: position, kind, recordId, at } = event;
  return { position, kind, recordId, atMs: at.getTime(), json: changeJson(collection, event) };
}

async function withEvents(finding: Promise<CollectionModel>): Promise<CollectionModel> {
  const collection = await finding;
  if (!collection.hasEvents) throw eventsSwitchedOff({ collection: collection.name });
  return collection;
}

/** Current definitions of collections, each read again after a second. */
class Definitions {
  readonly #store: CollectionStore;
  readonly #clock: Clock;
  readonly #known = new BoundedMap<string, { readonly model: Promise<CollectionModel>; readonly untilMs: number }>({
    maxWeight: 10_000,
    whenFull: 'evict-unused',
  });

  constructor(database: Database, clock: Clock) {
    const publish = (): Promise<never> => Promise.reject(new Error('a runtime defines no collections'));
    this.#store = new CollectionStore({ database, bus: { publish } });
    this.#clock = clock;
  }

  /** Rejects with COLLECTION_UNKNOWN. */
  readonly find = (tenantId: string, name: string): Promise<CollectionModel> => {
    const key = `${tenantId}\0${name}`;
    const known = this.#known.get(key);
    if (known && known.untilMs > this.#clock.monotonicMs()) return known.model;
    const model = this.#read(tenantId, name);
    this.#known.set(key, { model, untilMs: this.#clock.monotonicMs() + definitionMs });
    model.catch(() => this.#known.delete(key));
    return model;
  };

  async #read(tenantId: string, name: string): Promise<CollectionModel> {
    const stored = await this.#store.find(tenantId, name);
    if (!stored) throw collectionUnknown({ collection: name, similar: undefined });
    return compileCollection(stored);
  }
}
