import { functionChanged, type TenantId } from '@drover/contracts';
import { MemoryEventBus } from '@drover/event-bus/testing';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FunctionDefinition } from '@drover/dispatchers';
import { StoredFunctionCatalog, type DiscoveredFunctionSource } from './stored-function-catalog.js';
import type { FunctionAddress, StoredFunction } from './function-store.js';
import type { FunctionObservation } from './observations.js';
import { settleSpec, toDefinition } from './resolve-function.js';

const defaults = { timeoutMs: 30_000, queueSize: 100, concurrency: 4, maxRetries: 3 };
const [a, b] = ['a' as TenantId, 'b' as TenantId];

function definitionOf(tenantId: TenantId, name: string, over: Partial<FunctionDefinition> = {}): FunctionDefinition {
  const spec = settleSpec({ name, endpointUrl: 'http://pool.test/' }, defaults);
  return { ...toDefinition(spec, { tenantId, generation: 1, revision: 1, env: {} }), ...over };
}

/** A registry in memory, and how it was asked. */
class StoreInMemory {
  readonly rows = new Map<string, FunctionDefinition>();
  readonly reads: string[][] = [];
  bytes = 100;
  /** Held up before it answers, with what it had read by then. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve();

  put(definition: FunctionDefinition): FunctionDefinition {
    this.rows.set(`${definition.tenantId}/${definition.name}`, definition);
    return definition;
  }

  async findAll(addresses: readonly FunctionAddress[]): Promise<StoredFunction[]> {
    const keys = addresses.map(({ tenantId, name }) => `${tenantId}/${name}`);
    this.reads.push(keys);
    const discovered = keys.flatMap((key) => this.rows.get(key) ?? []);
    await this.beforeAnswer();
    return discovered.map((definition) => ({ definition, bytes: this.bytes }));
  }
}

class FoundInMemory implements DiscoveredFunctionSource {
  readonly functions = new Map<string, FunctionDefinition>();
  changed: (tenantId: TenantId, name: string) => void = () => undefined;

  find(tenantId: TenantId, name: string): FunctionDefinition | undefined {
    return this.functions.get(`${tenantId}/${name}`);
  }

  list(): readonly FunctionDefinition[] {
    return [...this.functions.values()];
  }

  onChange(listener: (tenantId: TenantId, name: string) => void): void {
    this.changed = listener;
  }
}

let clock: FakeClock;
let store: StoreInMemory;
let discovered: FoundInMemory;
let bus: MemoryEventBus;
let catalog: StoredFunctionCatalog;
let observed: FunctionObservation[];
let gap: () => void | Promise<void>;

beforeEach(async () => {
  clock = new FakeClock();
  store = new StoreInMemory();
  discovered = new FoundInMemory();
  observed = [];
  bus = new MemoryEventBus({ clock, randomness: seededRandomness(1), observe: () => undefined });
  const subscribe = bus.subscribe.bind(bus);
  bus.subscribe = (options) => {
    gap = () => options.onGap?.({ after: 1, next: 9 });
    return subscribe(options);
  };
  catalog = catalogWith();
  await catalog.start();
});
afterEach(async () => {
  await catalog.stop();
  await bus.stop();
});

function catalogWith(cacheBytes?: number): StoredFunctionCatalog {
  return new StoredFunctionCatalog({
    store,
    bus,
    discovered,
    clock,
    observe: (observation) => observed.push(observation),
    ...(cacheBytes !== undefined && { cacheBytes }),
  });
}

async function tell(tenantId: TenantId, name: string): Promise<void> {
  const payload = { tenantId, name, removed: false };
  await bus.publish([{ topic: functionChanged, key: `${tenantId}/${name}`, generation: 1, payload }]);
  await clock.advance(0);
}

/** Holds up the next answers of the store until the returned function is called. */
function holdUp(): () => void {
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  store.beforeAnswer = () => held;
  return () => {
    store.beforeAnswer = () => Promise.resolve();
    letGo();
  };
}

type Heard = [TenantId, string, FunctionDefinition | undefined];
function listen(): Heard[] {
  const heard: Heard[] = [];
  catalog.onChange((...args) => heard.push(args));
  return heard;
}

describe('StoredFunctionCatalog', () => {
  it('asks once for a function, and knows it from then on', async () => {
    const definition = store.put(definitionOf(a, 'f'));
    expect(catalog.peek(a, 'f')).toBeUndefined();
    for (let call = 0; call < 3; call += 1) expect(await catalog.find(a, 'f')).toBe(definition);
    expect(catalog.peek(a, 'f')).toBe(definition);
    expect(store.reads).toEqual([['a/f']]);
  });

  it('keeps tenants apart', async () => {
    store.put(definitionOf(a, 'f'));
    await catalog.find(a, 'f');
    expect(catalog.peek(b, 'f')).toBeUndefined();
    expect(await catalog.find(b, 'f')).toBeUndefined();
  });

  it('remembers no name that nobody has: it may be registered through another replica a moment later', async () => {
    expect(await catalog.find(a, 'f')).toBeUndefined();
    const definition = store.put(definitionOf(a, 'f'));
    expect(await catalog.find(a, 'f')).toBe(definition);
  });

  it.each(['', 'a/b', '1a', 'a b', 'ä', 'a\u0000', '__proto__', 'x'.repeat(64)])(
    'does not ask for %j, which is no name',
    async (name) => {
      expect(await catalog.find(a, name)).toBeUndefined();
      expect(store.reads).toEqual([]);
    },
  );

  it('makes one question of equal ones, and one statement of all that come while one is under way', async () => {
    const letGo = holdUp();
    const first = catalog.find(a, 'f');
    await clock.advance(0);
    const others = Array.from({ length: 500 }, (_, n) => catalog.find(a, `f${n % 5}`));
    await clock.advance(0);
    expect(store.reads).toEqual([['a/f']]);
    letGo();
    await Promise.all([first, ...others]);
    expect(store.reads).toEqual([['a/f'], ['a/f0', 'a/f1', 'a/f2', 'a/f3', 'a/f4']]);
  });

  it('never answers with what was read before the question', async () => {
    const letGo = holdUp();
    const before = catalog.find(a, 'f');
    await clock.advance(0);
    store.put(definitionOf(a, 'f')); // registered elsewhere, and answered with 201
    const after = catalog.find(a, 'f');
    letGo();
    expect(await before).toBeUndefined();
    expect(await after).toBeDefined();
  });

  it('gives a failed read to those who were part of it, and asks again for the next', async () => {
    store.beforeAnswer = () => Promise.reject(new Error('database is away'));
    await expect(catalog.find(a, 'f')).rejects.toThrow('database is away');
    store.beforeAnswer = () => Promise.resolve();
    const definition = store.put(definitionOf(a, 'f'));
    expect(await catalog.find(a, 'f')).toBe(definition);
  });

  it('forgets a function when the bus says that it changed, and only that one', async () => {
    store.put(definitionOf(a, 'f'));
    const other = store.put(definitionOf(a, 'g'));
    await Promise.all([catalog.find(a, 'f'), catalog.find(a, 'g')]);
    const now = store.put(definitionOf(a, 'f', { revision: 2 }));
    await tell(a, 'f');
    expect(catalog.peek(a, 'f')).toBeUndefined();
    expect(catalog.peek(a, 'g')).toBe(other);
    expect(await catalog.find(a, 'f')).toBe(now);
  });

  it.each(['the bus', 'a handler here'])(
    'does not remember what it read before a change that %s told of',
    async (who) => {
      store.put(definitionOf(a, 'f'));
      const letGo = holdUp();
      const during = catalog.find(a, 'f');
      await clock.advance(0);
      const now = store.put(definitionOf(a, 'f', { revision: 2 })); // committed after our statement had looked
      if (who === 'the bus') await tell(a, 'f');
      else void catalog.changed(a, 'f');
      letGo();
      await during;
      expect(catalog.peek(a, 'f')).not.toMatchObject({ revision: 1 });
      expect(await catalog.find(a, 'f')).toBe(now);
    },
  );

  it('forgets everything when events are missing, also what is just being read, and tells of what it knew', async () => {
    store.put(definitionOf(a, 'f'));
    store.put(definitionOf(a, 'g'));
    await catalog.find(a, 'f');
    const heard = listen();
    const letGo = holdUp();
    const during = catalog.find(a, 'g');
    await clock.advance(0);
    const [f, g] = [definitionOf(a, 'f', { revision: 2 }), definitionOf(a, 'g', { revision: 2 })].map((now) =>
      store.put(now),
    );
    const told = gap();
    expect(catalog.peek(a, 'f')).toBeUndefined();
    letGo();
    await during;
    await told;
    expect(await catalog.find(a, 'g')).toBe(g);
    expect(heard).toEqual([[a, 'f', f]]);
  });

  it('lets go of what nobody asks for when there is too much', async () => {
    catalog = catalogWith(20 * (1_024 + 100));
    const inUse = store.put(definitionOf(a, 'in-use'));
    await catalog.find(a, 'in-use');
    for (let n = 0; n < 100; n += 1) {
      store.put(definitionOf(a, `f${n}`));
      await catalog.find(a, `f${n}`);
      expect(catalog.peek(a, 'in-use')).toBe(inUse);
    }
    expect(catalog.peek(a, 'f99')).toBeDefined();
    expect(catalog.peek(a, 'f50')).toBeUndefined();
  });
});

describe('listeners', () => {
  it('hear of a change here before the one who made it goes on, and of one elsewhere from the bus', async () => {
    const heard = listen();
    const one = store.put(definitionOf(a, 'f'));
    await catalog.changed(a, 'f');
    expect(heard).toEqual([[a, 'f', one]]);
    expect(catalog.peek(a, 'f')).toBe(one);
    store.rows.clear();
    await tell(a, 'f');
    expect(heard.at(-1)).toEqual([a, 'f', undefined]);
    expect(catalog.peek(a, 'f')).toBeUndefined();
  });

  it('never hear of an older version after a newer one, in whatever order the changes are told', async () => {
    const heard = listen();
    store.put(definitionOf(a, 'f', { revision: 1 }));
    const letGo = holdUp();
    const telling = [tell(a, 'f')];
    for (let revision = 2; revision <= 20; revision += 1) {
      store.put(definitionOf(a, 'f', { revision }));
      telling.push(revision % 2 ? tell(a, 'f') : catalog.changed(a, 'f'));
      await clock.advance(0);
      if (revision === 10) letGo();
    }
    await Promise.all(telling);
    await clock.advance(0);
    const revisions = heard.map(([, , now]) => now?.revision ?? 0);
    expect(revisions).toEqual(revisions.toSorted((one, other) => one - other));
    expect(revisions.at(-1)).toBe(20);
  });

  it('hear that a version is over after everybody who was still given it', async () => {
    store.put(definitionOf(a, 'f'));
    const order: string[] = [];
    catalog.onChange((_, __, now) => order.push(now ? 'changed' : 'removed'));
    const letGo = holdUp();
    const asked = catalog.find(a, 'f').then((definition) => order.push(definition ? 'discovered' : 'not discovered'));
    await clock.advance(0);
    store.rows.clear();
    const told = catalog.changed(a, 'f');
    letGo();
    await Promise.all([asked, told]);
    expect(order).toEqual(['discovered', 'removed']);
  });

  it('that fail keep neither the others nor the bus from going on', async () => {
    catalog.onChange(() => {
      throw new Error('listener is broken');
    });
    const heard = listen();
    for (const name of ['f', 'g']) {
      store.put(definitionOf(a, name));
      await tell(a, name);
    }
    expect(heard.map(([, name]) => name)).toEqual(['f', 'g']);
    expect(observed.map(({ kind }) => kind)).toEqual(['function.change-unheard', 'function.change-unheard']);
  });

  it('hear later of a change that cannot be read now; who made it is not held up', async () => {
    const heard = listen();
    store.put(definitionOf(a, 'f'));
    await catalog.find(a, 'f');
    store.beforeAnswer = () => Promise.reject(new Error('database is away'));
    const now = store.put(definitionOf(a, 'f', { revision: 2 }));
    await catalog.changed(a, 'f');
    expect(observed).toMatchObject([{ kind: 'function.change-unheard', name: 'f' }]);
    expect(catalog.peek(a, 'f')).toBeUndefined();
    await tell(a, 'f');
    expect(heard).toEqual([]);
    store.beforeAnswer = () => Promise.resolve();
    await clock.advance(10_000); // the bus brings it again
    expect(heard).toEqual([[a, 'f', now]]);
  });
});

describe('functions of applications', () => {
  const ofApplication = definitionOf(a, 'f', {
    mode: 'APP',
    discovered: { application: 'shop', trigger: 'httpTrigger' },
  });

  it('are discovered where the registry has none, and asked for once', async () => {
    discovered.functions.set('a/f', ofApplication);
    for (let call = 0; call < 3; call += 1) expect(await catalog.find(a, 'f')).toBe(ofApplication);
    expect(catalog.peek(a, 'f')).toBe(ofApplication);
    expect(store.reads).toHaveLength(1);
    expect(await catalog.find(b, 'f')).toBeUndefined();
  });

  it('are hidden by one that is registered, and seen again when that is removed', async () => {
    discovered.functions.set('a/f', ofApplication);
    await catalog.find(a, 'f');
    const heard = listen();
    const registered = store.put(definitionOf(a, 'f'));
    await catalog.changed(a, 'f');
    expect(catalog.peek(a, 'f')).toBe(registered);
    store.rows.clear();
    await catalog.changed(a, 'f');
    expect(catalog.peek(a, 'f')).toBe(ofApplication);
    expect(heard.map(([, , now]) => now)).toEqual([registered, ofApplication]);
  });

  it('are told of when they come and go', async () => {
    const heard = listen();
    discovered.functions.set('a/f', ofApplication);
    discovered.changed(a, 'f');
    await clock.advance(0);
    discovered.functions.clear();
    discovered.changed(a, 'f');
    await clock.advance(0);
    expect(heard.map(([, , now]) => now)).toEqual([ofApplication, undefined]);
    expect(catalog.peek(a, 'f')).toBeUndefined();
  });

  it('that are gone without a word are not discovered, and the registry is asked again', async () => {
    discovered.functions.set('a/f', ofApplication);
    await catalog.find(a, 'f');
    discovered.functions.clear();
    expect(catalog.peek(a, 'f')).toBeUndefined();
    const registered = store.put(definitionOf(a, 'f'));
    expect(await catalog.find(a, 'f')).toBe(registered);
  });
});
