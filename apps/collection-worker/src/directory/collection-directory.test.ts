import type { CatalogedCollection } from '@drover/collection-engine';
import { collectionChanged, type CollectionDefinition } from '@drover/contracts';
import { MemoryEventBus } from '@drover/event-bus/testing';
import { systemRandomness } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CollectionDirectory } from './collection-directory.js';

/** Definitions in memory, and how they were asked for. */
class DefinitionsInMemory {
  readonly collections = new Map<string, CatalogedCollection>();
  readonly formerNames = new Map<string, string>();
  readonly reads: string[] = [];
  /** Held up before it answers, with what it had read by then. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve();

  define(name: string, version = 1, fields: CollectionDefinition['fields'] = []): void {
    const at = new Date(0);
    const made = { createdAt: at, createdBy: 'k', updatedAt: at, updatedBy: 'k' };
    const definition = { name, fields };
    const stored = { id: `id-${name}`, tenantId: 'acme', version, definition, table: name, columns: {} };
    this.collections.set(name, { ...stored, ...made });
  }

  async find(tenantId: string, name: string): Promise<CatalogedCollection | undefined> {
    this.reads.push(name);
    const found = tenantId === 'acme' ? this.collections.get(name) : undefined;
    await this.beforeAnswer();
    return found;
  }

  renamedTo(_tenantId: string, name: string): Promise<string | undefined> {
    return Promise.resolve(this.formerNames.get(name));
  }

  /** Answers both statements of the directory. */
  async query<R extends object>(statement: { readonly name?: string } | string): Promise<R[]> {
    const all = [...this.collections.values()];
    const isReferrers = typeof statement === 'object' && statement.name === 'collection-directory-referrers';
    const rows = isReferrers
      ? all.flatMap(({ definition: { name, fields } }) =>
          fields.flatMap(({ references }) => (references ? [{ name, target: references.collection }] : [])),
        )
      : all.map(({ id, version, definition: { name } }) => ({ id, name, version }));
    return rows as unknown as R[];
  }
}

describe('CollectionDirectory', () => {
  const clock = new FakeClock();
  let store: DefinitionsInMemory;
  let bus: MemoryEventBus;
  let directory: CollectionDirectory;

  beforeEach(async () => {
    store = new DefinitionsInMemory();
    bus = new MemoryEventBus({ clock, randomness: systemRandomness, observe: () => undefined });
    await bus.start();
    directory = new CollectionDirectory({ store, database: store, bus, clock });
    await directory.start();
  });

  afterEach(async () => {
    await directory.stop();
    await bus.stop();
  });

  const change = (name: string): Promise<void> => {
    const payload = { tenantId: 'acme', collectionId: `id-${name}`, name, removed: false };
    return bus.publish([{ topic: collectionChanged, key: payload.collectionId, generation: 1, payload }]);
  };

  it('reads a collection once, for all requests of the moment and those after', async () => {
    store.define('orders');
    const models = await Promise.all([directory.find('acme', 'orders'), directory.find('acme', 'orders')]);
    expect(models.map(({ name }) => name)).toEqual(['orders', 'orders']);
    expect(directory.known('acme', 'orders')).toBe(models[0]);
    expect(store.reads).toEqual(['orders']);
    expect(directory.known('globex', 'orders')).toBeUndefined();
  });

  it('finds a collection that is defined after it was asked for, and suggests a similar name until then', async () => {
    store.define('orders');
    await expect(directory.find('acme', 'ordres')).rejects.toThrow(/Did you mean "orders"/);
    store.define('ordres');
    expect((await directory.find('acme', 'ordres')).name).toBe('ordres');
  });

  it('reads a collection again after an event about its change', async () => {
    store.define('orders');
    await directory.find('acme', 'orders');
    store.define('orders', 2);
    await change('orders');
    await eventually(() => directory.known('acme', 'orders') === undefined);
    expect((await directory.find('acme', 'orders')).version).toBe(2);
  });

  it('does not store what was read before a change and arrives after it', async () => {
    store.define('orders');
    let answer = (): void => undefined;
    store.beforeAnswer = () => new Promise((resolve) => (answer = resolve));
    const before = directory.find('acme', 'orders');
    await eventually(() => store.reads.length === 1);
    store.define('orders', 2);
    await directory.revalidate('acme');
    answer();
    expect((await before).version).toBe(1);
    expect(directory.known('acme', 'orders')).toBeUndefined();
  });

  it('says whether a model was not current, which a failed request asks', async () => {
    store.define('orders');
    await directory.find('acme', 'orders');
    expect(await directory.revalidate('acme')).toBe(false);
    store.define('orders', 2);
    expect(await directory.revalidate('acme')).toBe(true);
    expect((await directory.find('acme', 'orders')).version).toBe(2);
  });

  it('reads again after half a minute: the event about a change may be lost', async () => {
    store.define('orders');
    await directory.find('acme', 'orders');
    store.define('orders', 2);
    await clock.advance(30_001);
    expect((await directory.find('acme', 'orders')).version).toBe(2);
  });

  it('knows which collections reference another one', async () => {
    store.define('customers');
    store.define('orders', 1, [{ name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } }]);
    expect((await directory.findReferrers('acme', 'customers')).map(({ name }) => name)).toEqual(['orders']);
    expect(await directory.findReferrers('acme', 'orders')).toEqual([]);
  });

  it('says which name a collection has now that was renamed', async () => {
    store.define('clients');
    store.formerNames.set('customers', 'clients');
    await expect(directory.find('acme', 'customers')).rejects.toMatchObject({
      code: 'COLLECTION_UNKNOWN',
      message: expect.stringContaining('It was renamed to "clients"'),
    });
  });

  it('learns of a new reference when a failed request asks, and keeps what is current', async () => {
    store.define('customers');
    const customers = await directory.find('acme', 'customers');
    expect(await directory.findReferrers('acme', 'customers')).toEqual([]);
    expect(await directory.revalidate('acme')).toBe(false);
    store.define('orders', 1, [{ name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } }]);
    expect(await directory.revalidate('acme')).toBe(true);
    expect((await directory.findReferrers('acme', 'customers')).map(({ name }) => name)).toEqual(['orders']);
    expect(directory.known('acme', 'customers')).toBe(customers);
  });

  it('leaves out a collection that was removed after its references were read', async () => {
    store.define('customers');
    store.define('orders', 1, [{ name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } }]);
    await directory.findReferrers('acme', 'orders');
    store.collections.delete('orders');
    expect(await directory.findReferrers('acme', 'customers')).toEqual([]);
  });
});
