import {
  collectionMigrations,
  collectionUnknown,
  CollectionStore,
  compileCollection,
  FieldCipher,
  PreparedStatements,
  RecordEventTail,
  type CatalogedCollection,
  type CollectionModel,
} from '@drover/collection-engine';
import { Database, migrate } from '@drover/database';
import { BoundedMap, type Clock, type Secret } from '@drover/service-kit';
import type { OpenRecords, RuntimeRecordsOptions } from './runtime-records.js';
import { TenantRecords } from './tenant-records.js';

const poolSize = 4;
const limits = { statementTimeoutMs: 10_000, connectTimeoutMs: 2_000 };
/** How long a definition is used after it was read: triggers and bindings see a change that late. */
const definitionMs = 1_000;

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
  const dependencies = {
    database,
    find: definitions.find,
    findReferrers: definitions.findReferrers,
    statements: new PreparedStatements({ onReplaced: (name) => database.forgetStatement(name) }),
    // The key of the platform stays with its own processes: functions neither read nor write encrypted fields.
    cipher: new FieldCipher(undefined, randomness),
    clock,
    randomness,
  };
  return {
    of: (tenantId) => new TenantRecords(tenantId, { tail, dependencies, clock }),
    close: async () => {
      await tail.stop();
      await database.stop();
    },
  };
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

  readonly findReferrers = async (tenantId: string, name: string): Promise<readonly CollectionModel[]> => {
    const all = await this.#store.list(tenantId);
    return all
      .map(compileCollection)
      .filter(({ fields }) =>
        [...fields.values()].some(({ definition }) => definition.references?.collection === name),
      );
  };

  /** Functions name collections in their code, which is deployed at another moment: a former name finds the renamed collection. */
  async #read(tenantId: string, name: string): Promise<CollectionModel> {
    const stored = (await this.#store.find(tenantId, name)) ?? (await this.#renamed(tenantId, name));
    if (!stored) throw collectionUnknown({ collection: name, similar: undefined });
    return compileCollection(stored);
  }

  async #renamed(tenantId: string, formerName: string): Promise<CatalogedCollection | undefined> {
    const name = await this.#store.renamedTo(tenantId, formerName);
    return name === undefined ? undefined : this.#store.find(tenantId, name);
  }
}
