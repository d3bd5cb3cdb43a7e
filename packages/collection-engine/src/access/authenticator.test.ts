import { apiKeyChanged, type ApiKeyId, type Scope, type TenantId } from '@drover/contracts';
import { MemoryEventBus } from '@drover/event-bus/testing';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newApiKey } from './api-key-format.js';
import type { StoredApiKey } from './api-key-store.js';
import { Authenticator } from './authenticator.js';

const minuteMs = 60_000;
const randomness = seededRandomness(1);

/** Keys in memory, and how they were asked for. */
class KeysInMemory {
  readonly keys = new Map<ApiKeyId, StoredApiKey>();
  readonly lookups: ApiKeyId[] = [];
  readonly notes: ReadonlyMap<ApiKeyId, number>[] = [];
  /** Held up before it answers, with what it had read by then. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve();
  failing = false;

  async find(id: ApiKeyId): Promise<StoredApiKey | undefined> {
    this.lookups.push(id);
    const key = this.keys.get(id);
    await this.beforeAnswer();
    return key;
  }

  async recordUse(used: ReadonlyMap<ApiKeyId, number>): Promise<void> {
    if (this.failing) throw new Error('database is away');
    this.notes.push(new Map(used));
  }

  add(over: Partial<StoredApiKey> = {}): { readonly id: ApiKeyId; readonly header: string } {
    const { text, parsed } = newApiKey(randomness);
    const { id, digest } = parsed;
    const scopes: Scope[] = ['control:read'];
    this.keys.set(id, { id, digest, tenantId: 'a' as TenantId, scopes, expiresAt: undefined, ...over });
    return { id, header: `Bearer ${text.reveal()}` };
  }
}

let clock: FakeClock;
let store: KeysInMemory;
let bus: MemoryEventBus;
let authenticator: Authenticator;

beforeEach(async () => {
  clock = new FakeClock();
  store = new KeysInMemory();
  bus = new MemoryEventBus({ clock, randomness, observe: () => undefined });
  authenticator = new Authenticator(store, bus, clock);
  await authenticator.start();
});
afterEach(async () => {
  await authenticator.stop();
  await bus.stop();
});

const tell = (keyId: ApiKeyId): Promise<void> =>
  bus.publish([{ topic: apiKeyChanged, key: keyId, generation: 2, payload: { keyId, tenantId: 'a', revoked: true } }]);

describe('Authenticator', () => {
  it('says who is calling, by the key alone', async () => {
    const { id, header } = store.add({ tenantId: 'b' as TenantId, scopes: ['control:read', 'control:write'] });
    const caller = { keyId: id, tenantId: 'b', scopes: ['control:read', 'control:write'] };
    expect(await authenticator.authenticate(header)).toEqual({ caller });
    expect(await authenticator.authenticate(header.replace('Bearer', 'bEARER'))).toEqual({ caller });
  });

  it.each([
    ['missing', undefined],
    ['malformed', ''],
    ['malformed', 'Bearer'],
    ['malformed', 'Bearer '],
    ['malformed', 'Basic dXNlcjpwYXNz'],
    ['malformed', 'Bearer drv_0123456789abcdef_short'],
  ])('refuses as %s, without asking the store, the header %j', async (refused, header) => {
    expect(await authenticator.authenticate(header)).toEqual({ refused });
    expect(store.lookups).toEqual([]);
  });

  it('gives the same answer to an unknown key and to a known id with a wrong secret', async () => {
    const known = store.add();
    const unknown = newApiKey(randomness);
    const wrong = `Bearer drv_${known.id}_${unknown.text.reveal().slice(-43)}`;
    expect(await authenticator.authenticate(wrong)).toEqual({ refused: 'unknown', keyId: known.id });
    expect(await authenticator.authenticate(`Bearer ${unknown.text.reveal()}`)).toEqual({
      refused: 'unknown',
      keyId: unknown.parsed.id,
    });
  });

  it('does not take a wrong secret because the right one was just here', async () => {
    const { id, header } = store.add();
    await authenticator.authenticate(header);
    const wrong = `Bearer drv_${id}_${newApiKey(randomness).text.reveal().slice(-43)}`;
    expect(await authenticator.authenticate(wrong)).toMatchObject({ refused: 'unknown' });
  });

  it('asks for an unknown key once in five seconds, also when many requests carry it', async () => {
    const { text, parsed } = newApiKey(randomness);
    const header = `Bearer ${text.reveal()}`;
    const refused = { refused: 'unknown', keyId: parsed.id };
    expect(authenticator.authenticateCached(header)).toBeUndefined();
    for (let request = 0; request < 5; request++) expect(await authenticator.authenticate(header)).toEqual(refused);
    expect(authenticator.authenticateCached(header)).toEqual(refused);
    await clock.advance(4_999);
    await authenticator.authenticate(header);
    expect(store.lookups).toEqual([parsed.id]);
    await clock.advance(1);
    expect(authenticator.authenticateCached(header)).toBeUndefined();
    await authenticator.authenticate(header);
    expect(store.lookups).toEqual([parsed.id, parsed.id]);
  });

  it('knows a key as soon as it is told that it was made, however often it was asked for before', async () => {
    const { id, header } = store.add();
    const made = store.keys.get(id);
    store.keys.delete(id);
    expect(await authenticator.authenticate(header)).toMatchObject({ refused: 'unknown' });
    if (made) store.keys.set(id, made);
    await tell(id);
    await clock.advance(0);
    expect(await authenticator.authenticate(header)).toMatchObject({ caller: { keyId: id } });
  });

  it('remembers a key for 30 seconds', async () => {
    const { id, header } = store.add();
    for (let request = 0; request < 5; request++) await authenticator.authenticate(header);
    await clock.advance(29_999);
    await authenticator.authenticate(header);
    expect(store.lookups).toEqual([id]);
    await clock.advance(1);
    await authenticator.authenticate(header);
    expect(store.lookups).toEqual([id, id]);
  });

  it('forgets a key when the bus says that it changed, and only that one', async () => {
    const [revoked, other] = [store.add(), store.add()];
    await authenticator.authenticate(revoked.header);
    await authenticator.authenticate(other.header);
    store.keys.delete(revoked.id);
    await tell(revoked.id);
    await clock.advance(0);
    expect(await authenticator.authenticate(revoked.header)).toMatchObject({ refused: 'unknown' });
    expect(await authenticator.authenticate(other.header)).toHaveProperty('caller');
    expect(store.lookups).toEqual([revoked.id, other.id, revoked.id]);
  });

  it('forgets at once when told directly', async () => {
    const { id, header } = store.add();
    await authenticator.authenticate(header);
    store.keys.delete(id);
    authenticator.forget(id);
    expect(await authenticator.authenticate(header)).toMatchObject({ refused: 'unknown' });
  });

  it('does not remember what it read before a revocation that it was told of while reading', async () => {
    const { id, header } = store.add();
    let answer = (): void => undefined;
    store.beforeAnswer = () => new Promise((resolve) => (answer = resolve));
    const during = authenticator.authenticate(header);
    store.keys.delete(id); // committed after our statement had looked
    await tell(id);
    await clock.advance(0);
    answer();
    await during;
    store.beforeAnswer = () => Promise.resolve();
    expect(await authenticator.authenticate(header)).toMatchObject({ refused: 'unknown' });
  });

  it('refuses a key from the moment it expires, also one it remembers', async () => {
    const { id, header } = store.add({ expiresAt: new Date(clock.now() + 10_000) });
    await clock.advance(9_999);
    expect(await authenticator.authenticate(header)).toHaveProperty('caller');
    await clock.advance(1);
    expect(await authenticator.authenticate(header)).toEqual({ refused: 'expired', keyId: id });
    expect(store.lookups).toEqual([id]);
  });

  it('tells an expired key apart only for those who know its secret', async () => {
    const { id } = store.add({ expiresAt: new Date(clock.now() - 1) });
    const wrong = `Bearer drv_${id}_${newApiKey(randomness).text.reveal().slice(-43)}`;
    expect(await authenticator.authenticate(wrong)).toEqual({ refused: 'unknown', keyId: id });
  });

  it('caches 10,000 keys at the most: keys in use stay, the oldest is evicted', async () => {
    const inUse = store.add();
    const keys = Array.from({ length: 10_001 }, () => store.add());
    for (const { header } of keys) {
      await authenticator.authenticate(inUse.header);
      await authenticator.authenticate(header);
    }
    const [oldest, newest] = [keys[0], keys[10_000]];
    store.lookups.length = 0;
    for (const key of [inUse, newest]) await authenticator.authenticate(key?.header);
    expect(store.lookups).toEqual([]);
    await authenticator.authenticate(oldest?.header);
    expect(store.lookups).toEqual([oldest?.id]);
  });

  it('notes the last use of each key once a minute', async () => {
    const [one, two] = [store.add(), store.add()];
    await authenticator.authenticate(one.header);
    await clock.advance(10_000);
    const last = clock.now();
    for (const key of [one, two]) await authenticator.authenticate(key.header);
    await clock.advance(minuteMs - 10_001);
    expect(store.notes).toEqual([]);
    await clock.advance(1);
    expect(store.notes).toEqual([
      new Map([
        [one.id, last],
        [two.id, last],
      ]),
    ]);
    await clock.advance(5 * minuteMs);
    expect(store.notes).toHaveLength(1);
  });

  it('notes no use of a key that it refused', async () => {
    const { header } = store.add({ expiresAt: new Date(clock.now()) });
    await authenticator.authenticate(header);
    await clock.advance(minuteMs);
    expect(store.notes).toEqual([]);
  });

  it('brings what it could not note with the next minute, the later use where there are two', async () => {
    const [once, again] = [store.add(), store.add()];
    const first = clock.now();
    await authenticator.authenticate(once.header);
    await authenticator.authenticate(again.header);
    store.failing = true;
    await clock.advance(minuteMs);
    store.failing = false;
    const later = clock.now();
    await authenticator.authenticate(again.header);
    await clock.advance(minuteMs);
    expect(store.notes).toEqual([
      new Map([
        [once.id, first],
        [again.id, later],
      ]),
    ]);
  });

  it('notes what is left when it stops, and leaves no timer behind', async () => {
    const { id, header } = store.add();
    await authenticator.authenticate(header);
    await authenticator.stop();
    await authenticator.stop();
    expect(store.notes.map((note) => [...note.keys()])).toEqual([[id]]);
    await bus.stop();
    expect(clock.pending).toBe(0);
  });
});
