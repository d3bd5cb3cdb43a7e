import { functionChanged, functionNamePattern, type TenantId } from '@drover/contracts';
import { GroupCommit } from '@drover/database';
import type { EventBus, Subscription } from '@drover/event-bus';
import { BoundedMap, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import type { FunctionDefinition, QueueControl } from '@drover/dispatchers';
import type { FunctionCatalog } from './function-catalog.js';
import type { FunctionAddress, FunctionStore, StoredFunction, StoredQueue } from './function-store.js';
import type { FunctionObservation } from './observations.js';

/** Functions of deployed applications: callable like registered functions, but not stored in the registry. */
export interface DiscoveredFunctionSource {
  find(tenantId: TenantId, name: string): FunctionDefinition | undefined;
  list(tenantId: TenantId): readonly FunctionDefinition[];
  /** Resolves when the first listing has arrived, or after `ms`. */
  waitForFirst?(ms: number): Promise<void>;
  /** Calls `listener` whenever a function appears, changes or is removed. */
  onChange?(listener: (tenantId: TenantId, name: string) => void): void;
}

export interface StoredFunctionCatalogOptions {
  readonly store: Pick<FunctionStore, 'findAll'>;
  readonly bus: EventBus;
  readonly discovered?: DiscoveredFunctionSource | undefined;
  readonly clock: Clock;
  readonly observe: Observe<FunctionObservation>;
  /** Bounds the cache; 64 MiB by default. */
  readonly cacheBytes?: number;
}

interface CachedFunction {
  /** Absent: discovered in an application but not registered; without this entry each call would query the registry. */
  readonly definition?: FunctionDefinition;
  /** Of a function that is not registered. */
  readonly queueControl?: QueueControl;
  readonly bytes: number;
}

type Listener = Parameters<FunctionCatalog['onChange']>[0];

/** Estimated size of a cache entry beside its specification. */
const overheadBytes = 1_024;
const validName = new RegExp(functionNamePattern);

/**
 * Caches the registry. An entry is dropped when the bus reports a change, and all entries when the bus reports a gap. Unknown
 * names are not cached: the function may be registered through another replica a moment later.
 *
 * Look-ups run one statement at a time, each with all names requested by then. So a flood of names uses one connection, a
 * result is never older than its request, and listeners see versions in order: a listener is called only after every `find`
 * that returned an older version has resolved, so no caller can miss that its version is outdated.
 */
export class StoredFunctionCatalog implements FunctionCatalog, Lifecycle {
  readonly name = 'function catalog';
  readonly #store: Pick<FunctionStore, 'findAll'>;
  readonly #bus: EventBus;
  readonly #discovered: DiscoveredFunctionSource | undefined;
  readonly #observe: Observe<FunctionObservation>;
  readonly #known: BoundedMap<string, CachedFunction>;
  readonly #lookups: GroupCommit<FunctionAddress, FunctionDefinition | undefined>;
  /** Keys that changed since the running statement began: its rows may predate the change and are not cached. */
  readonly #overtaken = new Set<string>();
  #allOvertaken = false;
  readonly #listeners: Listener[] = [];
  #subscription: Subscription | undefined;

  constructor({ store, bus, discovered, clock, observe, cacheBytes = 67_108_864 }: StoredFunctionCatalogOptions) {
    this.#store = store;
    this.#bus = bus;
    this.#discovered = discovered;
    this.#observe = observe;
    this.#known = new BoundedMap({ maxWeight: cacheBytes, weigh: ({ bytes }) => bytes, whenFull: 'evict-unused' });
    this.#lookups = new GroupCommit({
      name: 'function look-ups',
      maxConcurrent: 1,
      write: (asked) => this.#read(asked),
      clock,
      observe: () => undefined,
    });
    discovered?.onChange?.((tenantId, name) => void this.changed(tenantId, name));
  }

  async start(): Promise<void> {
    this.#subscription = await this.#bus.subscribe({
      topics: [functionChanged],
      from: 'now',
      handle: ({ payload }) => {
        const { tenantId, name } = payload as { readonly tenantId: TenantId; readonly name: string }; // of that topic
        return this.#refresh(tenantId, name);
      },
      onGap: () => this.#refreshAll(),
    });
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  peek(tenantId: TenantId, name: string): FunctionDefinition | undefined {
    const known = this.#known.get(keyOf(tenantId, name));
    return known && (known.definition ?? this.#findDiscovered(tenantId, name, known.queueControl));
  }

  async find(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    const known = this.peek(tenantId, name);
    if (known || !validName.test(name)) return known;
    return this.#lookUp(tenantId, name);
  }

  /** A listener may be called twice for one version, locally and from the bus, but never with an older version after a newer. */
  onChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Applies a local change at once; other replicas learn of it from the bus. Never rejects. */
  async changed(tenantId: TenantId, name: string): Promise<void> {
    try {
      await this.#refresh(tenantId, name);
    } catch (error) {
      // The cached entry is gone all the same, and listeners are called when the bus delivers the change.
      this.#observe({ kind: 'function.change-unheard', tenantId, name, error });
    }
  }

  async #refresh(tenantId: TenantId, name: string): Promise<void> {
    const key = keyOf(tenantId, name);
    this.#overtaken.add(key);
    this.#known.delete(key);
    if (this.#listeners.length === 0) return;
    const now = await this.#lookUp(tenantId, name);
    for (const listener of this.#listeners) {
      try {
        listener(tenantId, name, now);
      } catch (error) {
        this.#observe({ kind: 'function.change-unheard', tenantId, name, error });
      }
    }
  }

  async #refreshAll(): Promise<void> {
    const keys = this.#known.keys();
    this.#allOvertaken = true;
    this.#known.clear();
    await Promise.all(
      keys.map((key) => {
        const { tenantId, name } = addressOf(key);
        return this.changed(tenantId, name);
      }),
    );
  }

  async #lookUp(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    return (await this.#lookups.add({ tenantId, name })) ?? this.#discovered?.find(tenantId, name);
  }

  async #read(asked: readonly FunctionAddress[]): Promise<(FunctionDefinition | undefined)[]> {
    this.#overtaken.clear();
    this.#allOvertaken = false;
    const addresses = new Map(asked.map((address) => [keyOf(address.tenantId, address.name), address]));
    const answer = await this.#store.findAll([...addresses.values()]);
    const stored = new Map<string, StoredFunction | StoredQueue>();
    for (const one of answer) {
      const { tenantId, name } = 'definition' in one ? one.definition : one.address;
      stored.set(keyOf(tenantId, name), one);
    }
    for (const [key, { tenantId, name }] of addresses) {
      if (this.#allOvertaken || this.#overtaken.has(key)) continue;
      const one = stored.get(key);
      if (one && 'definition' in one)
        this.#known.set(key, { definition: one.definition, bytes: one.bytes + overheadBytes });
      else if (this.#discovered?.find(tenantId, name))
        this.#known.set(key, { bytes: overheadBytes, ...(one && { queueControl: one.queueControl }) });
    }
    return asked.map(({ tenantId, name }) => {
      const one = stored.get(keyOf(tenantId, name));
      if (!one) return undefined;
      return 'definition' in one ? one.definition : this.#findDiscovered(tenantId, name, one.queueControl);
    });
  }

  #findDiscovered(tenantId: TenantId, name: string, queueControl?: QueueControl): FunctionDefinition | undefined {
    const definition = this.#discovered?.find(tenantId, name);
    return definition && queueControl ? { ...definition, queueControl } : definition;
  }
}

/** Names contain no slash, so the last slash separates tenant and name. */
function keyOf(tenantId: TenantId, name: string): string {
  return `${tenantId}/${name}`;
}

function addressOf(key: string): FunctionAddress {
  const slash = key.lastIndexOf('/');
  return { tenantId: key.slice(0, slash) as TenantId, name: key.slice(slash + 1) }; // made by keyOf
}
