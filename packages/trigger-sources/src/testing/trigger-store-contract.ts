import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TriggerStore } from '../store/trigger-store.js';

interface StoreWorld {
  /** Opens the same state again, as another runtime would. */
  open(): Promise<TriggerStore>;
  close(): Promise<void>;
}

const never = new AbortController().signal;

/** The contract of every trigger store; the test of each adapter runs it. */
export function triggerStoreContract(adapter: string, openWorld: () => Promise<StoreWorld>): void {
  describe(`the trigger store contract: ${adapter}`, () => {
    let world: StoreWorld;
    let store: TriggerStore;

    beforeEach(async () => {
      world = await openWorld();
      store = await world.open();
    });
    afterEach(() => world.close());

    it('has nothing at first', async () => {
      expect(await store.read('timers/a', never)).toBeUndefined();
      expect(await store.list('', never)).toEqual([]);
      await store.remove('timers/a', never);
    });

    it('returns what was written, with its version, also to other runtimes', async () => {
      const value = JSON.stringify({ text: 'ünïcode ✓ 😀', long: 'x'.repeat(100_000) });
      const version = await store.write('timers/a', value, undefined, never);
      expect(version).toEqual(expect.any(String));
      expect(await store.read('timers/a', never)).toEqual({ key: 'timers/a', value, version });
      const other = await world.open();
      expect(await other.read('timers/a', never)).toEqual({ key: 'timers/a', value, version });
    });

    it('keeps an empty value apart from none', async () => {
      const version = await store.write('empty', '', undefined, never);
      expect(await store.read('empty', never)).toEqual({ key: 'empty', value: '', version });
    });

    it('creates a key once', async () => {
      expect(await store.write('k', 'first', undefined, never)).toBeDefined();
      expect(await store.write('k', 'second', undefined, never)).toBeUndefined();
      expect((await store.read('k', never))?.value).toBe('first');
    });

    it('replaces only the version that the writer has seen', async () => {
      const first = await store.write('k', '1', undefined, never);
      const second = await store.write('k', '2', first, never);
      expect(second).not.toBe(first);
      expect(await store.write('k', 'late', first, never)).toBeUndefined();
      expect(await store.write('k', 'invented', 'no version at all', never)).toBeUndefined();
      expect((await store.read('k', never))?.value).toBe('2');
    });

    it('changes the version also when the value stays the same', async () => {
      const first = await store.write('k', 'same', undefined, never);
      const second = await store.write('k', 'same', first, never);
      expect(second).toBeDefined();
      expect(second).not.toBe(first);
    });

    it('refuses a version of before a removal', async () => {
      const first = await store.write('k', '1', undefined, never);
      await store.remove('k', never);
      expect(await store.read('k', never)).toBeUndefined();
      expect(await store.write('k', 'late', first, never)).toBeUndefined();
      const again = await store.write('k', '1', undefined, never);
      expect(again).not.toBe(first);
      expect(await store.write('k', 'late', first, never)).toBeUndefined();
    });

    it('lets exactly one of many writers at once win', async () => {
      const stores = await Promise.all(Array.from({ length: 8 }, () => world.open()));
      const created = await Promise.all(stores.map((one, n) => one.write('k', String(n), undefined, never)));
      const [version] = created.filter((won) => won !== undefined);
      expect(created.filter((won) => won !== undefined)).toHaveLength(1);
      const replaced = await Promise.all(stores.map((one, n) => one.write('k', `again ${n}`, version, never)));
      expect(replaced.filter((won) => won !== undefined)).toHaveLength(1);
      const winner = replaced.findIndex((won) => won !== undefined);
      expect((await store.read('k', never))?.value).toBe(`again ${winner}`);
    });

    it('lists by prefix, in the order of the keys', async () => {
      const keys = ['hubs/b/1', 'hubs/a/10', 'hubs/a/9', 'hubs/a.b/1', 'hubs/A/1', 'hubs', 'timers/x', 'hubs/ä%_/1'];
      for (const key of keys) await store.write(key, `value of ${key}`, undefined, never);
      const listed = await store.list('hubs/', never);
      const expected = keys.filter((key) => key.startsWith('hubs/')).toSorted((a, b) => (a < b ? -1 : 1));
      expect(listed.map(({ key }) => key)).toEqual(expected);
      expect(listed.map(({ value }) => value)).toEqual(expected.map((key) => `value of ${key}`));
      for (const state of listed) expect(await store.read(state.key, never)).toEqual(state);
      expect((await store.list('hubs/a', never)).map(({ key }) => key)).toEqual([
        'hubs/a.b/1',
        'hubs/a/10',
        'hubs/a/9',
      ]);
      expect(await store.list('hubs/%', never)).toEqual([]);
    });

    it.each(['a.', 'a/b c', "it's (1)!~*", 'tenant/app:v1/Function-1', '%41', '日本/х', 'k'.repeat(256)])(
      'takes the key %j',
      async (key) => {
        const version = await store.write(key, 'value', undefined, never);
        expect(await store.read(key, never)).toEqual({ key, value: 'value', version });
        expect(await store.list(key, never)).toEqual([{ key, value: 'value', version }]);
        await store.remove(key, never);
        expect(await store.read(key, never)).toBeUndefined();
      },
    );

    it('rejects with the reason of a signal that has aborted', async () => {
      const aborted = AbortSignal.abort(new Error('too late'));
      await expect(store.read('k', aborted)).rejects.toThrow('too late');
      await expect(store.write('k', '', undefined, aborted)).rejects.toThrow('too late');
      await expect(store.list('k', aborted)).rejects.toThrow('too late');
      await expect(store.remove('k', aborted)).rejects.toThrow('too late');
      expect(await store.read('k', never)).toBeUndefined();
    });
  });
}
