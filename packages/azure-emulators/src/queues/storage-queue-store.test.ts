import { withScratchDirectory } from '@drover/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageQueueStore } from './storage-queue-store.js';
import { popReceiptOf, type EmulatedQueue } from './emulated-queue.js';

const account = 'devstoreaccount1';
const start = Date.UTC(2030, 0, 1);

function openStore({ maxBytes = 1e9 } = {}) {
  const clock = { now: start };
  const store = new StorageQueueStore({ maxBytes, now: () => clock.now });
  store.create(account, 'orders', {});
  const queue = (): EmulatedQueue => store.queue(account, 'orders');
  const put = (text: string, { hiddenMs = 0, ttlMs = 1e9 } = {}) =>
    store.put(queue(), { xmlText: text, hiddenMs, expiresAt: clock.now + ttlMs }).value;
  const receive = (most = 32, hiddenMs = 30_000) => store.receive(queue(), most, hiddenMs).value.map((m) => m.xmlText);
  return { clock, store, queue, put, receive };
}

describe('a queue', () => {
  it('gives messages in order of arrival, and returned ones in the order in which they came back', () => {
    const { clock, put, receive } = openStore();
    for (const text of ['a', 'b', 'c']) put(text);
    expect(receive(2, 10)).toEqual(['a', 'b']);
    put('d');
    clock.now += 10;
    expect(receive()).toEqual(['c', 'd', 'a', 'b']);
  });

  it('makes a hidden message visible exactly at its time, and removes it exactly at its expiry', () => {
    const { clock, queue, put, receive } = openStore();
    put('delayed', { hiddenMs: 100 });
    put('brief', { ttlMs: 50 });
    expect(queue()).toMatchObject({ count: 2, hiddenCount: 1, delayedCount: 1 });
    clock.now += 49;
    expect(queue().ready(9)).toHaveLength(1);
    clock.now += 1;
    expect(queue()).toMatchObject({ count: 1, hiddenCount: 1 });
    clock.now += 49;
    expect(receive()).toEqual([]);
    clock.now += 1;
    expect(queue()).toMatchObject({ count: 1, hiddenCount: 0, delayedCount: 0 });
    expect(receive()).toEqual(['delayed']);
    expect(queue()).toMatchObject({ count: 1, hiddenCount: 1, delayedCount: 0 });
  });

  it('lets a message expire while a receiver has it', () => {
    const { clock, store, queue, put } = openStore();
    put('x', { ttlMs: 50 });
    const [message] = store.receive(queue(), 1, 1_000).value;
    clock.now += 50;
    const handle = { id: message?.id ?? '', popReceipt: message ? popReceiptOf(message) : '' };
    expect(() => store.delete(queue(), handle)).toThrow(expect.objectContaining({ code: 'MessageNotFound' }));
    expect(store.bytes).toBe(0);
  });

  it('refuses messages beyond its bound of memory, and takes them again when there is room', () => {
    const { store, queue, put } = openStore({ maxBytes: 5_000 });
    const refused = expect.objectContaining({ code: 'EmulatorMemoryLimitReached', status: 507 });
    let count = 0;
    expect(() => {
      for (; ; count += 1) put('x'.repeat(100));
    }).toThrow(refused);
    expect(count).toBe(10);
    expect(queue().count).toBe(10);
    const [first] = store.receive(queue(), 1, 1_000).value;
    const handle = { id: first?.id ?? '', popReceipt: first ? popReceiptOf(first) : '' };
    const grown = { ...handle, hiddenMs: 0, xmlText: 'y'.repeat(200) };
    expect(() => store.update(queue(), grown)).toThrow(refused);
    store.delete(queue(), handle);
    put('x'.repeat(100));
    store.clear(queue());
    expect(store.bytes).toBe(0);
  });
});

/** Everything that a client can see. */
const visible = (store: StorageQueueStore) =>
  store.queuesOf(account).map(({ name, metadata, policies }) => {
    const queue = store.queue(account, name);
    const messages = [...queue.messages()].map(({ visibilityIndex: _v, expiryIndex: _e, ...message }) => message);
    return { name, metadata, policies, messages, ready: queue.ready(1_000).map(({ id }) => id) };
  });

describe('a durable store', () => {
  it('is the same after a restart, whatever was done', async () => {
    const step = fc.record({
      act: fc.constantFrom(
        'put',
        'put',
        'put',
        'receive',
        'update',
        'delete',
        'clear',
        'move',
        'purge',
        'metadata',
        'policies',
        'recreate',
      ),
      queue: fc.constantFrom('one', 'two'),
      text: fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => text.replaceAll('<', '')),
      ms: fc.nat(1_000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), (steps) =>
        withScratchDirectory(async (directory) => {
          const clock = { now: start };
          const open = async (): Promise<StorageQueueStore> => {
            const store = new StorageQueueStore({ maxBytes: 1e9, now: () => clock.now });
            await store.openJournal(directory, () => undefined);
            return store;
          };
          const store = await open();
          store.create(account, 'one', {});
          store.create(account, 'two', { a: 'b' });
          for (const { act, queue: name, text, ms } of steps) {
            clock.now += ms;
            const queue = store.queue(account, name);
            const [first] = queue.messages();
            const handle = first && { id: first.id, popReceipt: popReceiptOf(first) };
            if (act === 'put') store.put(queue, { xmlText: text, hiddenMs: ms % 3, expiresAt: clock.now + ms * 5 + 1 });
            else if (act === 'receive') store.receive(queue, 3, ms);
            else if (act === 'update' && handle)
              store.update(queue, { ...handle, hiddenMs: ms, xmlText: ms % 2 ? text : undefined });
            else if (act === 'delete' && handle) store.delete(queue, handle);
            else if (act === 'clear') store.clear(queue);
            else if (act === 'move') store.move(queue, store.queue(account, 'two'), clock.now + 10_000);
            else if (act === 'purge') store.purge(queue);
            else if (act === 'metadata') store.setMetadata(queue, { text });
            else if (act === 'policies') store.setPolicies(queue, [{ id: text, permission: 'r' }]);
            else if (act === 'recreate') {
              store.deleteQueue(queue);
              store.create(account, name, { [`m${ms}`]: text });
            }
          }
          store.setProperties(account, { Cors: '<Cors></Cors>' });
          const before = visible(store);
          await store.close();
          const again = await open();
          expect(visible(again)).toEqual(before);
          expect(again.bytes).toBe(store.bytes);
          expect(again.properties(account)).toEqual({ Cors: '<Cors></Cors>' });
          await again.close();
        }),
      ),
      { numRuns: 25 },
    );
  });
});
