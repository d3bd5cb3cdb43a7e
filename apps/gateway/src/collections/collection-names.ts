import { collectionChanged, sharedRecordsNames } from '@drover/contracts';
import { prepared, type Queryable } from '@drover/database';
import type { EventBus, Subscription } from '@drover/event-bus';
import type { Lifecycle } from '@drover/service-kit';

export interface CollectionNamesOptions {
  readonly database: Queryable;
  readonly bus: Pick<EventBus, 'subscribe' | 'lastPosition'>;
  /** Called with all names after each change. */
  readonly onChange?: (names: readonly string[]) => void;
}

const allStatement = prepared('gateway-collections', 'select id, tenant_id, name from drover.collections');
const findStatement = prepared(
  'gateway-collection',
  'select id, tenant_id, name from drover.collections where tenant_id = $1 and (name = $2 or $3::boolean) limit 1',
);

/** What a path of the records API is about. */
export interface RecordsTarget {
  readonly tenantId: string;
  /** Undefined for a path that is about all collections of the tenant. */
  readonly collectionId: string | undefined;
}

interface CollectionRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
}

interface ChangedCollection {
  readonly tenantId: string;
  readonly collectionId: string;
  readonly name: string;
  readonly removed: boolean;
}

/** Which tenants have a collection of which name. Events keep it current; a name that it does not know can be looked up. */
export class CollectionNames implements Lifecycle {
  readonly name = 'collection names';
  readonly #options: CollectionNamesOptions;
  /** By id, so that a renamed collection leaves its former name. */
  readonly #collections = new Map<string, { readonly tenantId: string; readonly name: string }>();
  /** By name, then by tenant; shared names have every tenant with a collection. */
  #targets = new Map<string, ReadonlyMap<string, RecordsTarget>>();
  #subscription: Subscription | undefined;

  constructor(options: CollectionNamesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { bus } = this.#options;
    const from = await bus.lastPosition();
    await this.#load();
    this.#subscription = await bus.subscribe({
      topics: [collectionChanged],
      from,
      handle: ({ payload }) => this.#change(payload as ChangedCollection), // of this topic
      onGap: () => this.#load(),
    });
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  get isEmpty(): boolean {
    return this.#targets.size === 0;
  }

  /** Returns the collections of the name by tenant; undefined if no tenant has one. */
  targetsOf(name: string): ReadonlyMap<string, RecordsTarget> | undefined {
    return this.#targets.get(name);
  }

  /** Returns the names of the collections of a tenant. Reads all of them: for requests that found none. */
  namesOf(tenantId: string): string[] {
    return [...this.#collections.values()].filter((each) => each.tenantId === tenantId).map(({ name }) => name);
  }

  /** Reads the collection of a tenant: its definition may be newer than the latest event. Returns undefined if there is none. */
  async lookUp(tenantId: string, name: string): Promise<RecordsTarget | undefined> {
    const isShared = sharedRecordsNames.has(name);
    const [row] = await this.#options.database.query<CollectionRow>(findStatement, [tenantId, name, isShared]);
    if (row) this.#change({ tenantId, collectionId: row.id, name: row.name, removed: false });
    return row && { tenantId, collectionId: isShared ? undefined : row.id };
  }

  async #load(): Promise<void> {
    const rows = await this.#options.database.query<CollectionRow>(allStatement);
    this.#collections.clear();
    for (const { id, tenant_id: tenantId, name } of rows) this.#collections.set(id, { tenantId, name });
    this.#index();
  }

  #change({ tenantId, collectionId, name, removed }: ChangedCollection): void {
    const known = this.#collections.get(collectionId);
    if (removed ? !known : known?.name === name) return;
    if (removed) this.#collections.delete(collectionId);
    else this.#collections.set(collectionId, { tenantId, name });
    this.#index();
  }

  #index(): void {
    const targets = new Map<string, Map<string, RecordsTarget>>();
    const add = (name: string, target: RecordsTarget): void => {
      const byTenant = targets.get(name) ?? new Map<string, RecordsTarget>();
      targets.set(name, byTenant.set(target.tenantId, target));
    };
    for (const [collectionId, { tenantId, name }] of this.#collections) {
      add(name, { tenantId, collectionId });
      for (const shared of sharedRecordsNames) add(shared, { tenantId, collectionId: undefined });
    }
    this.#targets = targets;
    this.#options.onChange?.([...targets.keys()]);
  }
}
