import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { idOf, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { outageLimits, PostgresProxy } from './support/postgres-proxy.js';
import type { Answer } from './support/raw-http.js';
import './support/refusal-matcher.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let test: TestDatabase;
let proxy: PostgresProxy;
let plane: RunningControlPlane;

leavesNoSecretBehind();
beforeEach(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  proxy = await PostgresProxy.to(test.url);
  plane = await startControlPlane(proxy.url, outageLimits);
});
afterEach(async () => {
  await plane?.stop();
  await proxy.remove();
  await test.drop();
});

const status = (): Promise<Answer> => plane.request('/control/status', { key: plane.adminKey });

async function expectOutage(): Promise<void> {
  const answer = await status();
  expect(answer).toBeRefusedWith(503, 'DATABASE_UNAVAILABLE');
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  // It names PostgreSQL, and not where that is.
  expect(answer.text).not.toMatch(/drover-test-|postgres:|PGSQL|127\.0|ECONN|ENOENT/);
}

async function expectReady(withinMs: number): Promise<void> {
  await eventually(async () => {
    expect((await plane.request('/readyz')).status).toBe(200);
    expect((await status()).status).toBe(200);
  }, withinMs);
}

describe('without its database the control plane', () => {
  it('refuses with 503, says why it is not ready, lives on, and recovers by itself', async () => {
    expect((await status()).status).toBe(200);
    await proxy.cut();
    await expectOutage();
    await eventually(async () => {
      const ready = await plane.request('/readyz');
      expect(ready.status).toBe(503);
      expect(ready.body).toEqual({ status: 'unready', problems: { database: 'DATABASE_UNAVAILABLE' } });
    });
    expect((await plane.request('/healthz')).status).toBe(200);
    expect(await plane.request('/control/status')).toBeRefusedWith(401, 'AUTHENTICATION_REQUIRED');
    await proxy.open();
    await expectReady(20_000);
  });

  it('still hears of revoked keys after it has recovered', async () => {
    const { secret, key } = await plane
      .client(plane.adminKey)
      .createApiKey({ body: { name: 'x', scopes: ['control:read'] } });
    await plane.client(secret).getCaller();
    await proxy.cut();
    await proxy.open();
    await expectReady(20_000);
    const other = await startControlPlane(test.url, {}, plane.adminKey);
    await other.client(other.adminKey).revokeApiKey({ params: { keyId: key.id } });
    await other.stop();
    await eventually(async () => expect((await plane.request('/control/whoami', { key: secret })).status).toBe(401));
  });

  it('survives that the server ends all its connections, again and again', async () => {
    const admin = await test.connect();
    for (let round = 0; round < 5; round++) {
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'drover %'`,
      );
      await expectReady(20_000);
    }
    expect(plane.log.some(({ kind }) => kind === 'database.connection-lost')).toBe(true);
  });

  it('keeps an unanswered request to the time of its statements, and strangers do not wait at all', async () => {
    const slow = await startControlPlane(
      proxy.url,
      { ...outageLimits, DROVER_DATABASE_STATEMENT_TIMEOUT_MS: '100' },
      plane.adminKey,
    );
    try {
      proxy.silence();
      expect(await slow.request('/control/keys')).toBeRefusedWith(401, 'AUTHENTICATION_REQUIRED');
      const answer = await slow.request('/control/status', { key: slow.adminKey });
      expect(answer).toBeRefusedWith(503, 'DATABASE_UNAVAILABLE');
      expect((await slow.request('/healthz')).status).toBe(200);
    } finally {
      await proxy.cut();
      await slow.stop();
    }
  });

  it('does not tell a key that is good from one that is not', async () => {
    await proxy.cut();
    const wrong = `drv_${idOf(plane.adminKey)}_${'A'.repeat(43)}`;
    for (const key of [plane.adminKey, wrong])
      expect((await plane.request('/control/status', { key })).status).toBe(503);
  });
});
