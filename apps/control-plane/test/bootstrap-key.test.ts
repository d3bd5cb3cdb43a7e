import { collectionWorkerRoutes, createClient, scopes } from '@drover/contracts';
import { sendRequest } from '@drover/http-edge';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { idOf, newKey, secretOf, startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;

leavesNoSecretBehind();
beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
});
afterAll(() => test.drop());

/** Starts a control plane whose key file has this content, for as long as `use` takes. */
async function withKeyFile(content: string, use: (plane: RunningControlPlane) => Promise<void>): Promise<void> {
  await withScratchDirectory(async (directory) => {
    const file = path.join(directory, 'credentials.json');
    await writeFile(file, content);
    const plane = await startControlPlane(test.url, { DROVER_BOOTSTRAP_KEY_FILE: file });
    try {
      await use(plane);
    } finally {
      await plane.stop();
    }
  });
}

const fileOf = (apiKey: string): string => JSON.stringify({ apiKey, url: 'http://127.0.0.1:7070' });
const statusWith = async (plane: RunningControlPlane, key: string): Promise<number> =>
  (await plane.request('/control/whoami', { key })).status;
const made = ({ log }: RunningControlPlane): unknown[] =>
  log.filter(({ kind, change }) => kind === 'access.key-changed' && change === 'bootstrapped');

describe('the bootstrap key', () => {
  it('is good for everything from the first start on, and stays so over a restart', async () => {
    const key = newKey();
    await withKeyFile(fileOf(key), async (plane) => {
      await expect(plane.client(key).getCaller()).resolves.toEqual({
        keyId: idOf(key),
        tenantId: 'default',
        scopes,
      });
      expect(made(plane)).toHaveLength(1);
    });
    await withKeyFile(fileOf(key), async (plane) => {
      expect(await statusWith(plane, key)).toBe(200);
      expect(made(plane)).toEqual([]);
    });
  });

  it('is one of two: that of collection workers registers them and does nothing else, and several are valid', async () => {
    const [admin, before, after] = [newKey(), newKey(), newKey()];
    await withKeyFile(fileOf(admin), async (running) => {
      const register = (key: string) =>
        createClient(collectionWorkerRoutes, { url: running.url, apiKey: key, fetch: sendRequest }).registerWorker({
          body: { workerId: 'w1', baseUrl: 'http://127.0.0.1:1' },
        });
      await (await startControlPlane(test.url, { DROVER_WORKER_JOIN_KEY: before }, admin)).stop();
      await expect(register(before)).resolves.toMatchObject({ incarnation: 1, assignments: [] });
      expect(await statusWith(running, before)).toBe(403);
      await (await startControlPlane(test.url, { DROVER_WORKER_JOIN_KEY: after }, admin)).stop();
      // Another platform on the same database has a key of its own: the workers of both go on.
      await expect(register(after)).resolves.toMatchObject({ incarnation: 2 });
      await expect(register(before)).resolves.toMatchObject({ incarnation: 3 });
      expect(await statusWith(running, admin)).toBe(200);
    });
    await expect(startControlPlane(test.url, { DROVER_WORKER_JOIN_KEY: 'drv_wrong' })).rejects.toThrow(
      'DROVER_WORKER_JOIN_KEY is not of the form drv_<id>_<secret>',
    );
  });

  it('replaces the one before it, also on a process that runs already', async () => {
    const [before, after] = [newKey(), newKey()];
    await withKeyFile(fileOf(before), async (running) => {
      expect(await statusWith(running, before)).toBe(200);
      await withKeyFile(fileOf(after), async (plane) => {
        expect(await statusWith(plane, after)).toBe(200);
        expect(await statusWith(plane, before)).toBe(401);
        await eventually(async () => expect(await statusWith(running, before)).toBe(401));
      });
    });
  });

  it('takes a new secret under the same id, and the old one is good for nothing', async () => {
    const before = newKey();
    const after = `drv_${idOf(before)}_${secretOf(newKey())}`;
    await withKeyFile(fileOf(before), async (plane) => expect(await statusWith(plane, before)).toBe(200));
    await withKeyFile(fileOf(after), async (plane) => {
      expect(await statusWith(plane, after)).toBe(200);
      expect(await statusWith(plane, before)).toBe(401);
    });
  });

  it('belongs to the default tenant even when its id was one of another', async () => {
    const database = await test.connect();
    const theirs = await storeKey(database, { tenantId: 'other' });
    await withKeyFile(fileOf(theirs), async (plane) => {
      await expect(plane.client(theirs).getCaller()).resolves.toMatchObject({ tenantId: 'default' });
    });
  });

  it('is one even when several processes bring different ones at once', async () => {
    const keys = [newKey(), newKey(), newKey()];
    await Promise.all(keys.map((key) => withKeyFile(fileOf(key), async () => undefined)));
    const database = await test.connect();
    const left = await database.query(`select id from drover.api_keys where name = 'bootstrap' and revoked_at is null`);
    expect(left).toHaveLength(1);
  });

  const whole = newKey();
  it.each([
    ['nothing', ''],
    ['the bare key', whole],
    ['a key in broken quotes', `{"apiKey":"${whole.slice(0, 30)}"${whole.slice(30)}"}`],
    ['an object without a key', '{"key":"x"}'],
    ['a key that is none', '{"apiKey":"drv_123_456"}'],
    ['a number', '7'],
    ['null', 'null'],
  ])('stops the start when the file holds %s, and does not quote it', async (_, content) => {
    const start = withKeyFile(content, async () => undefined);
    const error: unknown = await start.catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      code: 'BOOTSTRAP_KEY_INVALID',
      message: expect.stringMatching(/credentials\.json (is not valid JSON|holds no "apiKey")/),
    });
    const shown = JSON.stringify(error, Object.getOwnPropertyNames(error));
    for (let at = 0; at + 8 <= 43; at++) expect(shown).not.toContain(secretOf(whole).slice(at, at + 8));
  });

  it('stops the start when the file is not there, and names it', async () => {
    const start = startControlPlane(test.url, { DROVER_BOOTSTRAP_KEY_FILE: '/nowhere/credentials.json' });
    await expect(start).rejects.toMatchObject({
      code: 'BOOTSTRAP_KEY_INVALID',
      message: expect.stringMatching(/^The key file \/nowhere\/credentials\.json cannot be read \(ENOENT\)/),
    });
  });
});
