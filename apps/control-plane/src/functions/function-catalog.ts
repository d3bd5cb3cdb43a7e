import { functionChanged, functionNamePattern, type TenantId } from '@drover/contracts';
import { GroupCommit } from '@drover/database';
import type { EventBus, Subscription } from '@drover/event-bus';
import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { FunctionCatalog, FunctionDefinition } from '@drover/dispatchers';
import type { FunctionAddress, FunctionStore } from './function-store.js';
import type { FunctionObservation } from './observations.js';
import { RecentMap } from './recent-map.js';

/** Functions of deployed applications: not in the registry, but called like those that are. */
export interface FoundFunctionSource {
  find(tenantId: TenantId, name: string): FunctionDefinition | undefined;
  list(tenantId: TenantId): readonly FunctionDefinition[];
  /** Resolves once it is known which there are, or after `ms`. */
  waitForFirst?(ms: number): Promise<void>;
  /** Called whenever one appeared, changed or went. */
  onChange?(listener: (tenantId: TenantId, name: string) => void): void;
}

export interface StoredFunctionCatalogOptions {
  readonly store: Pick<FunctionStore, 'findAll'>;
  readonly bus: EventBus;
  readonly found?: FoundFunctionSource | undefined;
  readonly clock: Clock;
  readonly observe: Observe<FunctionObservation>;
  /** 64 MiB unless told. */
  readonly rememberBytes?: number;
}

type Listener = Parameters<FunctionCatalog['onChange']>[0];

/** The registry has none of this name, and an application has: worth remembering, or each call of it would ask again. */
const notRegistered = Symbol('not registered');
/** What an entry takes beside its specification: the objects around it. */
const overheadBytes = 1_024;
const validName = new RegExp(functionNamePattern);

/**
 * The registry, remembered. A function is forgotten when the bus says that it changed, and all are when the bus has lost
 * count. Names that nobody has are not remembered: the function may be registered through another replica a moment later.
 *
 * Look-ups go one statement at a time, with everybody in it who has asked by then. So a flood of names takes one
 * connection, an answer is never older than its question, and listeners hear of versions in the order of their making:
 * also after everybody who was given an older one by `find`, so that nobody can miss that it is over.
 */
export class StoredFunctionCatalog implements FunctionCatalog, Lifecycle {
  readonly name = 'function catalog';
  readonly #store: Pick<FunctionStore, 'findAll'>;
  readonly #bus: EventBus;
  readonly #found: FoundFunctionSource | undefined;
  readonly #observe: Observe<FunctionObservation>;
  readonly #known: RecentMap<string, FunctionDefinition | typeof notRegistered>;
  readonly #lookups: GroupCommit<FunctionAddress, FunctionDefinition | undefined>;
  /** What changed since the statement under way began: its answer may be the one from before the change. */
  readonly #overtaken = new Set<string>();
  #allOvertaken = false;
  readonly #listeners: Listener[] = [];
  #subscription: Subscription | undefined;

  constructor({ store, bus, found, clock, observe, rememberBytes = 67_108_864 }: StoredFunctionCatalogOptions) {
    this.#store = store;
    this.#bus = bus;
    this.#found = found;
    this.#observe = observe;
    this.#known = new RecentMap(rememberBytes);
    this.#lookups = new GroupCommit({
      name: 'function look-ups',
      maxConcurrent: 1,
      commit: (asked) => this.#read(asked),
      clock,
      observe: () => undefined,
    });
    found?.onChange?.((tenantId, name) => void this.changed(tenantId, name));
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
    return known === notRegistered ? this.#found?.find(tenantId, name) : known;
  }

  async find(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    const known = this.peek(tenantId, name);
    if (known || !validName.test(name)) return known;
    return this.#ask(tenantId, name);
  }

  /** A listener may hear of the same version twice, here and from the bus, but never of an older one after a newer one. */
  onChange(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Call it after a change here: others hear of it from the bus, here it counts from now on. Never fails. */
  async changed(tenantId: TenantId, name: string): Promise<void> {
    try {
      await this.#refresh(tenantId, name);
    } catch (error) {
      // It is forgotten all the same, and listeners hear of it when the bus brings it.
      this.#observe({ kind: 'function.change-unheard', tenantId, name, error });
    }
  }

  async #refresh(tenantId: TenantId, name: string): Promise<void> {
    const key = keyOf(tenantId, name);
    this.#overtaken.add(key);
    this.#known.delete(key);
    if (this.#listeners.length === 0) return;
    const now = await this.#ask(tenantId, name);
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

  async #ask(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    return (await this.#lookups.add({ tenantId, name })) ?? this.#found?.find(tenantId, name);
  }

  async #read(asked: readonly FunctionAddress[]): Promise<(FunctionDefinition | undefined)[]> {
    this.#overtaken.clear();
    this.#allOvertaken = false;
    const addresses = new Map(asked.map((address) => [keyOf(address.tenantId, address.name), address]));
    const answer = await this.#store.findAll([...addresses.values()]);
    const stored = new Map(answer.map((one) => [keyOf(one.definition.tenantId, one.definition.name), one]));
    for (const [key, { tenantId, name }] of addresses) {
      if (this.#allOvertaken || this.#overtaken.has(key)) continue;
      const one = stored.get(key);
      if (one) this.#known.set(key, one.definition, one.bytes + overheadBytes);
      else if (this.#found?.find(tenantId, name)) this.#known.set(key, notRegistered, overheadBytes);
    }
    return asked.map(({ tenantId, name }) => stored.get(keyOf(tenantId, name))?.definition);
  }
}

/** No name has a slash, so the last one is ours. */
function keyOf(tenantId: TenantId, name: string): string {
  return `${tenantId}/${name}`;
}

function addressOf(key: string): FunctionAddress {
  const slash = key.lastIndexOf('/');
  return { tenantId: key.slice(0, slash) as TenantId, name: key.slice(slash + 1) }; // made by keyOf
}
