import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { idOf, secretOf, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;
let database: Database;
let plane: RunningControlPlane;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(test.url);
  database = await test.connect();
});
afterAll(async () => {
  await plane?.stop();
  await test.drop();
});

const readOnly = { name: 'reader', scopes: ['control:read' as const] };

describe('making a key', () => {
  it('shows it once, and what is stored does not contain it', async () => {
    const admin = plane.client(plane.adminKey);
    const { key, secret } = await admin.createApiKey({ body: readOnly });
    expect(key).toMatchObject({ ...readOnly, tenantId: 'default', createdAt: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(idOf(secret)).toBe(key.id);
    await expect(plane.client(secret).getCaller()).resolves.toEqual({
      keyId: key.id,
      tenantId: 'default',
      scopes: ['control:read'],
    });
    const stored = await database.query<{ row: string }>('select k::text as row from drover.api_keys k');
    const events = await database.query<{ row: string }>('select e::text as row from drover.events e');
    expect([...stored, ...events].filter(({ row }) => row.includes(secretOf(secret)))).toEqual([]);
  });

  it('cannot pass on a scope that the maker lacks', async () => {
    const maker = await storeKey(database, { scopes: ['control:write'] });
    const body = { name: 'more', scopes: ['control:read', 'control:write'] as const };
    const answer = await plane.request('/control/keys', { method: 'POST', key: maker, json: body });
    expect(answer).toBeRefusedWith(403, 'API_KEY_SCOPE_NOT_HELD');
    expect(answer.text).toContain('control:read');
    expect(answer.text).not.toContain('control:write');
    const allowed = plane.client(maker).createApiKey({ body: { name: 'same', scopes: ['control:write'] } });
    await expect(allowed).resolves.toMatchObject({ key: { scopes: ['control:write'] } });
  });

  it('limits a scope to a collection, and never widens one that is limited', async () => {
    const maker = await storeKey(database, {
      scopes: ['control:write', 'control:read', 'records:read', 'records:write:orders'],
    });
    const scopes = ['control:read', 'records:read:größen', 'records:write:orders'] as const;
    const { secret } = await plane.client(maker).createApiKey({ body: { name: 'limited', scopes: [...scopes] } });
    await expect(plane.client(secret).getCaller()).resolves.toMatchObject({ scopes });
    for (const scope of ['records:write', 'records:write:lines', 'collections:define:orders']) {
      const json = { name: 'more', scopes: [scope] };
      const answer = await plane.request('/control/keys', { method: 'POST', key: maker, json });
      expect(answer).toBeRefusedWith(403, 'API_KEY_SCOPE_NOT_HELD');
    }
  });

  it('cannot outlive the one it was made with', async () => {
    const maker = await plane.client(plane.adminKey).createApiKey({
      body: { name: 'passing', scopes: ['control:read', 'control:write'], expiresAt: '2080-01-01T00:00:00Z' },
    });
    for (const end of [{}, { expiresAt: '2080-01-01T00:00:01Z' }]) {
      const answer = await plane.request('/control/keys', {
        method: 'POST',
        key: maker.secret,
        json: { ...readOnly, ...end },
      });
      expect(answer).toBeRefusedWith(403, 'API_KEY_WOULD_OUTLIVE');
    }
    const heir = plane.client(maker.secret).createApiKey({ body: { ...readOnly, expiresAt: '2080-01-01T00:00:00Z' } });
    await expect(heir).resolves.toMatchObject({ key: { name: 'reader' } });
  });

  it('takes an end in the future, in any zone, and refuses one in the past', async () => {
    const admin = plane.client(plane.adminKey);
    for (const expiresAt of [
      '2090-01-01T00:00:00Z',
      '2090-01-01T00:00:00+23:00',
      '2090-01-01T00:00:00.123456789-23:59',
    ]) {
      const { key } = await admin.createApiKey({ body: { ...readOnly, expiresAt } });
      expect(Date.parse(key.expiresAt ?? '')).toBe(Date.parse(expiresAt));
    }
    for (const expiresAt of ['2020-01-01T00:00:00Z', '2090-06-30T23:59:60Z', '2090-02-31T00:00:00Z']) {
      const answer = await plane.request('/control/keys', {
        method: 'POST',
        key: plane.adminKey,
        json: { ...readOnly, expiresAt },
      });
      expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
    }
  });

  it.each([
    ['a name with NUL', { ...readOnly, name: 'a\u0000b' }, /name/],
    ['an unknown scope', { ...readOnly, scopes: ['control:everything'] }, /must be control:read or control:write/],
    ['a scope twice', { ...readOnly, scopes: ['control:read', 'control:read'] }, /scopes/],
    ['150,000 scopes', { ...readOnly, scopes: Array.from({ length: 150_000 }, (_, n) => n) }, /10000 keys and items/],
    ['a field nobody knows', { ...readOnly, admin: true }, /the property .*admin/],
    ['a number for a name', { ...readOnly, name: 7 }, /name must be string/],
    ['a list', [], /must be object/],
    ['nothing', null, /must be object/],
  ])('refuses %s, and says why', async (_, json, reason) => {
    const answer = await plane.request('/control/keys', { method: 'POST', key: plane.adminKey, json });
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(reason);
  });

  it('keeps a name as it is, in any script', async () => {
    const name = `'; drop table drover.api_keys; -- 🔑 \u202e`;
    const { key } = await plane.client(plane.adminKey).createApiKey({ body: { ...readOnly, name } });
    expect(key.name).toBe(name);
  });
});

describe('listing keys', () => {
  it('pages through all of them once, oldest first, also while one of them is revoked', async () => {
    const names = Array.from({ length: 7 }, (_, n) => `page-${n}`);
    const keys: string[] = [];
    for (const name of names) keys.push(await storeKey(database, { tenantId: 'pages', name }));
    const client = plane.client(keys[0]);
    const first = await client.listApiKeys({ query: { limit: 3 } });
    expect(first.keys.map(({ name }) => name)).toEqual(names.slice(0, 3));
    // the key that the cursor names goes away
    await client.revokeApiKey({ params: { keyId: first.keys[2]?.id ?? '' } });
    const second = await client.listApiKeys({ query: { limit: 3, after: first.next ?? '' } });
    expect(second.keys.map(({ name }) => name)).toEqual(names.slice(3, 6));
    const third = await client.listApiKeys({ query: { limit: 3, after: second.next ?? '' } });
    expect(third.keys.map(({ name }) => name)).toEqual(names.slice(6));
    expect(third).not.toHaveProperty('next');
    await expect(client.listApiKeys({ query: { limit: 6 } })).resolves.not.toHaveProperty('next');
  });

  it('takes a limit from 1 to 200, once', async () => {
    const list = (query: string) => plane.request(`/control/keys?${query}`, { key: plane.adminKey });
    for (const query of ['limit=1', 'limit=200', '']) expect((await list(query)).status).toBe(200);
    for (const query of [
      'limit=0',
      'limit=201',
      'limit=1.5',
      'limit=x',
      'limit=',
      'limit=1&limit=2',
      'offset=3',
      'after=%00',
      'after=',
    ])
      expect(await list(query)).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it('shows when a key was last used once that has been noted', async () => {
    const other = await startControlPlane(test.url, {}, plane.adminKey);
    const key = await storeKey(database, { tenantId: 'last-use' });
    const beforeMs = Date.now();
    await other.client(key).getCaller();
    await other.stop(); // notes what it knows
    const { keys } = await plane.client(key).listApiKeys({ query: {} });
    expect(Date.parse(keys[0]?.lastUsedAt ?? '')).toBeGreaterThanOrEqual(beforeMs);
  });
});

describe('revoking a key', () => {
  it('ends it at once on the process that was asked, and once only', async () => {
    for (let round = 0; round < 20; round++) {
      const key = await storeKey(database);
      await plane.client(key).getCaller(); // now it is remembered
      await plane.client(key).revokeApiKey({ params: { keyId: idOf(key) } });
      expect(await plane.request('/control/whoami', { key })).toBeRefusedWith(401, 'AUTHENTICATION_REQUIRED');
      const again = plane.client(plane.adminKey).revokeApiKey({ params: { keyId: idOf(key) } });
      await expect(again).rejects.toMatchObject({ code: 'API_KEY_NOT_FOUND' });
    }
  });

  it('ends it at once on another process over the same database', async () => {
    const reader = await plane.client(plane.adminKey).createApiKey({ body: readOnly });
    const other = await startControlPlane(test.url, {}, plane.adminKey);
    try {
      await plane.client(reader.secret).getCaller();
      await other.client(reader.secret).getCaller();
      await other.client(other.adminKey).revokeApiKey({ params: { keyId: reader.key.id } });
      // Without a notice it would be known for 30 seconds.
      await eventually(async () =>
        expect((await plane.request('/control/whoami', { key: reader.secret })).status).toBe(401),
      );
    } finally {
      await other.stop();
    }
  });

  it('ends it for requests that come while it happens', async () => {
    const key = await storeKey(database);
    await plane.client(key).getCaller();
    const asking = Array.from({ length: 30 }, () => plane.request('/control/whoami', { key }));
    await plane.client(key).revokeApiKey({ params: { keyId: idOf(key) } });
    await Promise.all(asking);
    const after = await Promise.all(Array.from({ length: 10 }, () => plane.request('/control/whoami', { key })));
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([401]));
  });

  it.each(['%00', 'a'.repeat(33), 'a%20b', '..%2f..', "'--"])('refuses the id %s as none', async (keyId) => {
    const answer = await plane.request(`/control/keys/${keyId}`, { method: 'DELETE', key: plane.adminKey });
    expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
  });

  it('does not repeat a whole key that was given instead of its id', async () => {
    const key = await storeKey(database);
    const answer = await plane.request(`/control/keys/${key}`, { method: 'DELETE', key: plane.adminKey });
    expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect(answer.text).not.toContain(secretOf(key));
  });
});
