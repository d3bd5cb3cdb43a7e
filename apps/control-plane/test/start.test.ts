import { createServer } from 'node:net';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { Secret } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from './support/control-plane.js';
import { leavesNoSecretBehind } from './support/secrets.js';

let test: TestDatabase;
let database: Database;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase();
  database = await test.connect();
});
afterAll(() => test.drop());
afterEach(nothingIsConnected);

/** Pool, notifications, relay and subscriber names: whatever a control plane opens names itself. */
async function connections(): Promise<number> {
  const rows = await database.query(
    `select 1 from pg_stat_activity where datname = current_database() and application_name like 'drover %'`,
  );
  return rows.length;
}

async function nothingIsConnected(): Promise<void> {
  await eventually(async () => expect(await connections()).toBe(0));
}

describe('the start of a control plane', () => {
  it('says which port is taken, and leaves nothing running', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    try {
      await expect(startControlPlane(test.url, { DROVER_PORT: String(port) })).rejects.toMatchObject({
        code: 'PORT_TAKEN',
        message: expect.stringContaining(`Port ${port} on 127.0.0.1 is in use`),
      });
    } finally {
      await new Promise((resolve) => other.close(resolve));
    }
    await nothingIsConnected();
    const plane = await startControlPlane(test.url);
    expect(await connections()).toBeGreaterThan(0);
    await plane.stop();
  });

  it.each(['203.0.113.7', 'no-such-host.invalid', 'not a host'])('says that it cannot listen on %s', async (host) => {
    await expect(startControlPlane(test.url, { DROVER_HOST: host })).rejects.toMatchObject({
      code: 'ADDRESS_UNUSABLE',
      message: expect.stringContaining(`cannot listen on ${host}:0 (E`),
    });
  });

  it.each(['localhost', '127.0.0.1', '0.0.0.0'])('listens on %s, and says where it can be reached', async (host) => {
    const plane = await startControlPlane(test.url, { DROVER_HOST: host });
    try {
      expect((await plane.request('/healthz')).status).toBe(200);
      expect(plane.log).toContainEqual(expect.objectContaining({ kind: 'http.listening', url: plane.url }));
    } finally {
      await plane.stop();
    }
  });

  it('fails with a code when the database is not there', async () => {
    const url = new URL(test.url.reveal());
    url.searchParams.set('host', '/nowhere');
    await expect(startControlPlane(new Secret(url.href), { DROVER_DATABASE_WAIT_MS: '0' })).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    });
  });

  it('can be stopped twice, and a process that was stopped answers nobody', async () => {
    const plane = await startControlPlane(test.url);
    await plane.stop();
    await plane.stop();
    await expect(plane.request('/healthz')).rejects.toThrow();
  });

  it('can happen many times at once on a new database', async () => {
    const fresh = await createTestDatabase();
    try {
      const planes = await Promise.all([1, 2, 3].map(() => startControlPlane(fresh.url)));
      for (const plane of planes) expect((await plane.request('/readyz')).status).toBe(200);
      await Promise.all(planes.map((plane) => plane.stop()));
    } finally {
      await fresh.drop();
    }
  });
});
