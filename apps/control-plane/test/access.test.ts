import { controlRoutes, type Route } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { idOf, newKey, secretOf, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import type { Answer } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;
let database: Database;
let plane: RunningControlPlane;
/** By why it is refused: the Authorization header. */
let refused: Record<string, string | undefined>;
let known: string;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(test.url);
  database = await test.connect();
  known = await storeKey(database);
  const revoked = await storeKey(database);
  await plane.client(plane.adminKey).revokeApiKey({ params: { keyId: idOf(revoked) } });
  const expired = await storeKey(database, { expiresAt: '2020-01-01T00:00:00Z' });
  refused = {
    'no header': undefined,
    'an empty header': '',
    garbage: 'Bearer %00%ff',
    'another scheme': 'Basic YWRtaW46YWRtaW4=',
    'half a key': `Bearer ${known.slice(0, 30)}`,
    'an unknown key': `Bearer ${newKey()}`,
    'a wrong secret': `Bearer drv_${idOf(known)}_${secretOf(newKey())}`,
    'a revoked key': `Bearer ${revoked}`,
    'an expired key': `Bearer ${expired}`,
    'two keys': `Bearer ${known}, Bearer ${known}`,
  };
});
afterAll(async () => {
  await plane?.stop();
  await test.drop();
});

const guarded = Object.values<Route>(controlRoutes).filter(({ access }) => access !== 'public');

/** The route with some key's id in its path, and a body that fits where there is one. */
function ask({ path, method, body }: Route, authorization: string | undefined): Promise<Answer> {
  return plane.request(path.replace('{keyId}', idOf(known)), {
    method,
    ...(body && { json: { name: 'made by a stranger', scopes: ['control:read'] } }),
    ...(authorization !== undefined && { headers: { authorization } }),
  });
}

/** Everything of an answer that does not differ from request to request anyway. */
function essence({ status, headers, body }: Answer): unknown {
  const { requestId: _, ...rest } = body as Record<string, unknown>;
  return { status, rest, headers: [...headers.keys()] };
}

describe('a route that is not public', () => {
  it.each(guarded)('$method $path refuses everybody without a good key, and all of them alike', async (route) => {
    const answers = new Set<string>();
    for (const header of Object.values(refused)) {
      const answer = await ask(route, header);
      expect(answer).toBeRefusedWith(401, 'AUTHENTICATION_REQUIRED');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      answers.add(JSON.stringify(essence(answer)));
    }
    expect(answers.size).toBe(1);
  });

  it.each(guarded)('$method $path refuses a key that lacks $access, and names the scope', async (route) => {
    const scopes = route.access === 'control:read' ? (['control:write'] as const) : (['control:read'] as const);
    const answer = await ask(route, `Bearer ${await storeKey(database, { scopes: [...scopes] })}`);
    expect(answer).toBeRefusedWith(403, 'ACCESS_DENIED');
    expect(answer.text).toContain(route.access);
  });

  it('is refused before its body is read: a stranger learns nothing about what would be valid', async () => {
    const answer = await plane.request('/control/keys', { method: 'POST', json: { nonsense: true } });
    expect(answer).toBeRefusedWith(401, 'AUTHENTICATION_REQUIRED');
  });

  it('did nothing for any of them', async () => {
    const keys = await database.query(`select name from drover.api_keys where name = 'made by a stranger'`);
    expect(keys).toEqual([]);
    expect((await ask(controlRoutes.getCaller, `Bearer ${known}`)).status).toBe(200);
  });

  it('says in the log why, for those who run the platform', () => {
    const reasons = plane.log.filter(({ kind }) => kind === 'access.refused').map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set(['missing', 'malformed', 'unknown', 'expired', 'scope']));
  });
});

describe('a tenant', () => {
  it('neither lists, sees nor revokes the keys of another', async () => {
    const [ofA, ofB] = [await storeKey(database, { tenantId: 'a' }), await storeKey(database, { tenantId: 'b' })];
    const [a, b] = [plane.client(ofA), plane.client(ofB)];
    const idsOf = async (client: typeof a): Promise<string[]> =>
      (await client.listApiKeys({ query: {} })).keys.map(({ id }) => id);
    expect(await idsOf(a)).toEqual([idOf(ofA)]);
    expect(await idsOf(b)).toEqual([idOf(ofB)]);
    await expect(a.revokeApiKey({ params: { keyId: idOf(ofB) } })).rejects.toMatchObject({
      code: 'API_KEY_NOT_FOUND',
      status: 404,
    });
    expect(await idsOf(b)).toEqual([idOf(ofB)]);
    await expect(a.getCaller()).resolves.toMatchObject({ tenantId: 'a', keyId: idOf(ofA) });
  });

  it('cannot tell a key of another from one that does not exist', async () => {
    const [ofA, ofB] = [await storeKey(database, { tenantId: 'a' }), await storeKey(database, { tenantId: 'b' })];
    const revoke = (keyId: string): Promise<Answer> =>
      plane.request(`/control/keys/${keyId}`, { method: 'DELETE', key: ofA });
    const [others, nobodys] = [await revoke(idOf(ofB)), await revoke('0000000000000000')];
    expect(others).toBeRefusedWith(404, 'API_KEY_NOT_FOUND');
    const same = (answer: Answer, id: string): string => JSON.stringify(essence(answer)).replaceAll(id, 'ID');
    expect(same(others, idOf(ofB))).toBe(same(nobodys, '0000000000000000'));
  });

  it('does not page into another with its cursor', async () => {
    const ofB = await storeKey(database, { tenantId: 'cursor-b' });
    const ofA = await storeKey(database, { tenantId: 'cursor-a' });
    const page = await plane.client(ofA).listApiKeys({ query: { after: idOf(ofB) } });
    expect(page).toEqual({ keys: [] });
  });

  it('makes keys for itself only, whatever the body says', async () => {
    const ofA = await storeKey(database, { tenantId: 'a' });
    const json = { name: 'x', scopes: ['control:read'], tenantId: 'b' };
    const answer = await plane.request('/control/keys', { method: 'POST', key: ofA, json });
    expect(answer).toBeRefusedWith(400, 'VALIDATION_ERROR');
    expect(answer.text).toContain('tenantId');
    const made = await plane.client(ofA).createApiKey({ body: { name: 'x', scopes: ['control:read'] } });
    expect(made.key.tenantId).toBe('a');
  });
});
