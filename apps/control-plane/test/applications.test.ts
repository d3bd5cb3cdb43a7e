import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packFolder } from '@drover/application-catalog';
import { applicationRoutes, createClient, type Client, type Scope } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { indexOf, oneFunction, ScriptedRuntime } from './support/scripted-runtime.js';
import { keepSecret, leavesNoSecretBehind } from './support/secrets.js';
import { storeKey } from './support/stored-keys.js';

type Api = Client<typeof applicationRoutes>;
const password = 'hunter2-of-the-storage-account';

let test: TestDatabase;
let database: Database;
let runtime: ScriptedRuntime;
let plane: RunningControlPlane;
let api: Api;
let directory: string;

leavesNoSecretBehind();
beforeAll(async () => {
  keepSecret('a setting of an application', password);
  directory = await mkdtemp(path.join(tmpdir(), 'drover-apps-'));
  test = await createTestDatabase(controlPlaneSchema);
  database = await test.connect();
  runtime = await ScriptedRuntime.open();
  plane = await startControlPlane(test.url, environment());
  api = clientOf(plane.adminKey);
});
afterAll(async () => {
  await plane?.stop();
  await runtime?.close();
  await test.drop();
  await rm(directory, { recursive: true, force: true });
});
beforeEach(() => {
  runtime.index = oneFunction;
  runtime.indexed.length = 0;
});
afterEach(() => database.query('truncate drover.applications cascade'));

const environment = (): Record<string, string> => ({
  DROVER_RUNTIME_URL: runtime.url,
  DROVER_SECRETS_KEY: 'a key for the settings of the test',
  DROVER_PAYLOAD_DIR: path.join(directory, 'payloads'),
  DROVER_PAYLOAD_BYTES: '100000',
});

const clientOf = (apiKey: string, url = plane.url): Api => createClient(applicationRoutes, { url, apiKey });

/** Writes an app into a folder of its own and returns the folder. */
async function folderOf(name: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = path.join(directory, 'folders', name);
  await rm(folder, { recursive: true, force: true });
  for (const [file, text] of Object.entries({ 'host.json': '{"version":"2.0"}', 'index.js': name, ...files })) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
  }
  return folder;
}

/** Uploads an app whose code is `code`, and returns its payload. */
async function upload(app: string, code: string, from = api): Promise<string> {
  const zip = await packFolder(await folderOf(code, { 'index.js': code }));
  return (await from.uploadPayload({ params: { app }, upload: zip })).payload;
}

async function deploy(app: string, code: string, body: object = {}): Promise<string> {
  const payload = await upload(app, code);
  const { version } = await api.deployApplication({ params: { app }, body: { payload, ...body } });
  return version.version;
}

const getApp = async (app: string) => (await api.getApplication({ params: { app } })).application;
const trafficOf = async (app: string) => (await getApp(app)).traffic;
const storedKey = (tenantId: string, scopes: Scope[]): Promise<string> => storeKey(database, { tenantId, scopes });
/** Everything that a refused deployment must leave as it is. */
const state = () =>
  database.query(
    'select * from drover.application_versions v join drover.applications a using (tenant_id, application_id)',
  );

describe('a deployment', () => {
  it('is uploaded, indexed, stored and listed, without the values of its settings', async () => {
    const settings = { AzureWebJobsStorage: `AccountKey=${password}` };
    const version = await deploy('hello', 'one', { settings, scaling: { maxWorkers: 3 } });
    expect(version).toMatch(/^c[0-9a-f]{16}$/);
    const { applications } = await api.listApplications();
    expect(applications).toMatchObject([
      {
        name: 'hello',
        state: 'active',
        traffic: { [version]: 100 },
        scaling: { maxWorkers: 3 },
        versions: [
          {
            version,
            metadataVersion: 'm1',
            trafficPercent: 100,
            source: { kind: 'payload' },
            functions: [{ name: 'hello', trigger: 'httpTrigger', isDisabled: false }],
            settingNames: ['AzureWebJobsStorage'],
          },
        ],
      },
    ]);
    expect(runtime.indexed).toMatchObject([
      { tenantId: 'default', applicationId: 'hello', codeVersion: version, settings },
    ]);
    expect(await readdir(runtime.indexed[0]?.directory ?? '')).toEqual(['host.json', 'index.js']);
  });

  it('of equal files and settings is the same version and is not indexed again', async () => {
    const first = await deploy('hello', 'one', { settings: { A: '1' } });
    expect(await deploy('hello', 'one')).toBe(first);
    expect(await deploy('hello', 'one', { settings: { A: '[secret]' } })).toBe(first);
    expect(runtime.indexed).toHaveLength(1);
    const other = await deploy('hello', 'one', { settings: { A: '2' } });
    expect(other).not.toBe(first);
    expect(runtime.indexed.at(-1)?.settings).toEqual({ A: '2' });
    expect(await trafficOf('hello')).toEqual({ [other]: 100 });
  });

  it('splits traffic, is promoted and rolled back, and its changes are told', async () => {
    const one = await deploy('hello', 'one');
    const two = await deploy('hello', 'two', { trafficPercent: 10 });
    expect(await trafficOf('hello')).toEqual({ [one]: 90, [two]: 10 });
    const params = { app: 'hello' };
    await api.setTraffic({ params, body: { traffic: { [one]: 50, [two]: 50 } } });
    await api.promoteVersion({ params: { ...params, version: two } });
    expect(await trafficOf('hello')).toEqual({ [two]: 100 });
    await api.rollBackApplication({ params, body: { reason: 'too slow' } });
    expect(await trafficOf('hello')).toEqual({ [one]: 50, [two]: 50 });
    await api.rollBackApplication({ params, body: { version: one } });
    expect(await trafficOf('hello')).toEqual({ [one]: 100 });
    const { changes } = await api.getApplication({ params });
    expect(changes.map(({ kind }) => kind)).toEqual([
      'rolled-back',
      'rolled-back',
      'traffic',
      'traffic',
      'deployed',
      'deployed',
    ]);
    expect(changes[1]?.reason).toBe('too slow');
    expect((await api.deleteApplicationVersion({ params: { ...params, version: two } })).versions).toHaveLength(1);
  });

  it('changes scaling and roll back settings', async () => {
    await deploy('hello', 'one');
    const params = { app: 'hello' };
    await api.setScaling({ params, body: { minWorkers: 1, maxWorkers: 2, idleMs: 60_000, isPredictive: false } });
    const changed = await api.setRollbackPolicy({ params, body: { maxErrorPercent: 1 } });
    expect(changed).toMatchObject({
      scaling: { minWorkers: 1, maxWorkers: 2, idleMs: 60_000, isPredictive: false },
      rollback: { maxErrorPercent: 1 },
    });
    await expect(api.setScaling({ params, body: { minWorkers: 3, maxWorkers: 2 } })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('minWorkers is 3'),
    });
  });

  it('of a folder is not copied, and needs the right to run programs', async () => {
    const folder = await folderOf('in-place');
    const { version } = await api.deployApplication({ params: { app: 'hello' }, body: { directory: folder } });
    expect(version.source).toEqual({ kind: 'folder', directory: folder, isWatched: false });
    expect(runtime.indexed.at(-1)?.directory).toBe(folder);
    const deployer = clientOf(await storedKey('default', ['apps:read', 'apps:write']));
    await expect(
      deployer.deployApplication({ params: { app: 'other' }, body: { directory: folder } }),
    ).rejects.toMatchObject({ code: 'ACCESS_DENIED', message: expect.stringContaining('functions:commands') });
  });

  it('is removed in two steps, and not changed in between', async () => {
    const one = await deploy('hello', 'one');
    const params = { app: 'hello' };
    expect((await api.deleteApplication({ params })).state).toBe('deleting');
    for (const change of [
      () => deploy('hello', 'two'),
      () => api.promoteVersion({ params: { ...params, version: one } }),
      () => api.setScaling({ params, body: {} }),
    ])
      await expect(change()).rejects.toMatchObject({ code: 'APPLICATION_DELETING' });
    expect((await getApp('hello')).versions).toHaveLength(1);
  });

  it('belongs to one tenant: others see neither the application nor its payload', async () => {
    const payload = await upload('hello', 'one');
    await api.deployApplication({ params: { app: 'hello' }, body: { payload } });
    const stranger = clientOf(await storedKey('globex', ['apps:read', 'apps:write']));
    expect((await stranger.listApplications()).applications).toEqual([]);
    for (const attempt of [
      stranger.getApplication({ params: { app: 'hello' } }),
      stranger.deleteApplication({ params: { app: 'hello' } }),
    ])
      await expect(attempt).rejects.toMatchObject({ code: 'APPLICATION_UNKNOWN' });
    await expect(stranger.deployApplication({ params: { app: 'mine' }, body: { payload } })).rejects.toMatchObject({
      code: 'APPLICATION_PAYLOAD_UNKNOWN',
    });
  });

  it('needs the scopes of applications', async () => {
    const reader = clientOf(await storedKey('default', ['apps:read', 'functions:write']));
    await reader.listApplications();
    for (const attempt of [
      reader.uploadPayload({ params: { app: 'hello' }, upload: new Uint8Array(10) }),
      reader.deployApplication({ params: { app: 'hello' }, body: { payload: 'a'.repeat(64) } }),
      reader.setTraffic({ params: { app: 'hello' }, body: { traffic: {} } }),
    ])
      await expect(attempt).rejects.toMatchObject({
        code: 'ACCESS_DENIED',
        message: expect.stringContaining('apps:write'),
      });
  });
});

describe('a bad deployment', () => {
  let running: string;
  let before: unknown;
  beforeEach(async () => {
    running = await deploy('hello', 'one');
    before = await state();
  });
  /** The version that runs is untouched, and nothing of the other one is there. */
  async function expectUntouched(): Promise<void> {
    expect(await trafficOf('hello')).toEqual({ [running]: 100 });
    expect(await state()).toEqual(before);
  }
  afterEach(expectUntouched);

  const problem = (functionName: string, text: string) => indexOf('m1', ['hello'], [{ functionName, problem: text }]);
  it.each([
    ['no functions', { kind: 'refused', problems: ['no functions were found in the app'] }, /no functions were found/],
    [
      'an error in host.json',
      { kind: 'refused', problems: ['host.json: version must be "2.0"'] },
      /host\.json: version/,
    ],
    [
      'two functions with one name',
      problem('copy', 'another function has the same name, "Copy"'),
      /copy: another function/,
    ],
    ['a function that throws at load', problem('app', 'boom in src/index.js'), /app: boom in src\/index\.js/],
    ['a trigger with an unset connection', problem('orders', 'needs the setting BUS'), /orders: needs the setting BUS/],
  ] as const)('with %s is refused by name', async (_, answer, message) => {
    runtime.index = () => answer;
    await expect(deploy('hello', 'two')).rejects.toMatchObject({
      code: 'APPLICATION_REFUSED',
      status: 422,
      message: expect.stringMatching(message),
    });
  });

  it('without a runtime is refused, and may be tried again', async () => {
    runtime.index = () => Promise.reject(new Error('busy'));
    await expect(deploy('hello', 'two')).rejects.toMatchObject({ code: 'APPLICATION_NOT_INDEXED', status: 503 });
  });

  it.each([
    ['a folder that does not exist', { directory: '/nowhere/at/all' }, 'APPLICATION_FOLDER_UNUSABLE', /does not exist/],
    ['a file as folder', { directory: '/etc/hostname' }, 'APPLICATION_FOLDER_UNUSABLE', /not a directory/],
    ['a folder without host.json', { directory: import.meta.dirname }, 'APPLICATION_FOLDER_UNUSABLE', /no host\.json/],
    ['a relative path', { directory: 'app' }, 'VALIDATION_ERROR', /directory/],
    ['neither payload nor folder', {}, 'VALIDATION_ERROR', /exactly one/],
    ['both', { payload: 'a'.repeat(64), directory: '/app' }, 'VALIDATION_ERROR', /exactly one/],
    ['an unknown payload', { payload: 'b'.repeat(64) }, 'APPLICATION_PAYLOAD_UNKNOWN', /bbbb/],
    ['a payload that is a path', { payload: '../../etc' }, 'VALIDATION_ERROR', /payload/],
    ['a setting without a value', { payload: 'x', settings: { A: 1 } }, 'VALIDATION_ERROR', /./],
    ['a share over 100', { payload: 'a'.repeat(64), trafficPercent: 101 }, 'VALIDATION_ERROR', /trafficPercent/],
  ])('with %s is refused', async (_, body, code, message) => {
    const answer = await plane.request('/v1/apps/hello/versions', { method: 'POST', key: plane.adminKey, json: body });
    expect(answer.body).toMatchObject({ error: code, message: expect.stringMatching(message) });
  });

  it('with a secret that stands for nothing is refused', async () => {
    await expect(deploy('hello', 'two', { settings: { NEW: '[secret]' } })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('settings.NEW'),
    });
  });

  it('with other triggers and a share is refused', async () => {
    runtime.index = () => indexOf('m2', ['hello', 'more']);
    await expect(deploy('hello', 'two', { trafficPercent: 10 })).rejects.toMatchObject({
      code: 'APPLICATION_TRAFFIC_INVALID',
      message: expect.stringContaining(running),
    });
  });

  it.each([
    ['shares that do not add up', (version: string) => ({ [version]: 99 }), /add up to 99/],
    ['an unknown version', (version: string) => ({ [version]: 50, c0123456789abcdef: 50 }), /c0123456789abcdef/],
    ['a name that is no version', (version: string) => ({ [version]: 50, latest: 50 }), /latest/],
  ])('of traffic with %s is refused by name', async (_, traffic, message) => {
    await expect(
      api.setTraffic({ params: { app: 'hello' }, body: { traffic: traffic(running) } }),
    ).rejects.toMatchObject({ message: expect.stringMatching(message) });
  });

  it('of a name that is none is refused', async () => {
    const answer = await plane.request('/v1/apps/..%2fetc/versions', {
      method: 'POST',
      key: plane.adminKey,
      json: { payload: 'a'.repeat(64) },
    });
    expect(answer.body).toMatchObject({ error: 'VALIDATION_ERROR' });
  });
});

describe('an upload', () => {
  const send = (body: Uint8Array<ArrayBuffer> | string, headers: Record<string, string> = {}) =>
    fetch(`${plane.url}/v1/apps/hello/payloads`, {
      method: 'POST',
      headers: { authorization: `Bearer ${plane.adminKey}`, 'content-type': 'application/zip', ...headers },
      body,
    });

  it.each([
    ['that is no zip', Buffer.from('hello'), 422, 'APPLICATION_PAYLOAD_INVALID'],
    ['that is empty', Buffer.alloc(0), 422, 'APPLICATION_PAYLOAD_INVALID'],
    ['that is too large', Buffer.alloc(3_000_000), 413, 'APPLICATION_PAYLOAD_TOO_LARGE'],
  ])('%s gets an answer', async (_, body, status, error) => {
    const answer = await send(body);
    expect([answer.status, await answer.json()]).toMatchObject([status, { error }]);
    expect(await readdir(path.join(directory, 'payloads', 'incoming')).catch(() => [])).toEqual([]);
  });

  it('as JSON, and a zip for another route, are refused by their type', async () => {
    expect((await send('{}', { 'content-type': 'application/json' })).status).toBe(415);
    const other = await fetch(`${plane.url}/v1/apps/hello/versions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${plane.adminKey}`, 'content-type': 'application/zip' },
      body: 'PK',
    });
    expect(other.status).toBe(415);
  });

  it('without a key is refused before it is read', async () => {
    const answer = await send(Buffer.alloc(50_000), { authorization: 'Bearer nonsense' });
    expect(answer.status).toBe(401);
  });

  it('that breaks off leaves nothing', async () => {
    const incoming = (): Promise<string[]> => readdir(path.join(directory, 'payloads', 'incoming'));
    const sending = request(`${plane.url}/v1/apps/hello/payloads`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${plane.adminKey}`,
        'content-type': 'application/zip',
        'content-length': 50_000,
      },
    });
    sending.on('error', () => undefined); // it is cut off below
    sending.write(Buffer.alloc(10_000));
    await eventually(async () => expect(await incoming()).toHaveLength(1));
    sending.destroy();
    await eventually(async () => expect(await incoming()).toEqual([]));
  });
});

describe('folders of the configuration', () => {
  it('are deployed at the start, again when they change, not indexed when they have not, and removed when they are gone', async () => {
    const folder = await folderOf('watched', { 'local.settings.json': '{"Values":{"A":"1"}}' });
    const withFolder = { ...environment(), DROVER_FUNCTIONS_APPS: folder, DROVER_HOT_RELOAD: 'on' };
    runtime.index = () => indexOf('m1', ['hello'], [{ functionName: 'half', problem: 'is broken' }]);
    const first = await startControlPlane(test.url, withFolder, plane.adminKey);
    try {
      await eventually(async () => expect((await getApp('watched')).versions).toHaveLength(1));
      const [version] = (await getApp('watched')).versions;
      expect(version).toMatchObject({
        source: { kind: 'folder', directory: folder, isWatched: true },
        problems: [{ functionName: 'half', problem: 'is broken' }],
      });
      await writeFile(path.join(folder, 'index.js'), 'changed');
      await eventually(async () => {
        const { versions, traffic } = await getApp('watched');
        expect(versions).toHaveLength(1);
        expect(versions[0]?.version).not.toBe(version?.version);
        expect(traffic).toEqual({ [versions[0]?.version ?? '']: 100 });
      });
      const changed = (await getApp('watched')).versions[0]?.version;
      await writeFile(path.join(folder, 'local.settings.json'), '{"Values":{"A":"2"}}');
      await eventually(async () => expect((await getApp('watched')).versions[0]?.version).not.toBe(changed));
    } finally {
      await first.stop();
    }
    const indexed = runtime.indexed.length;
    const { generation } = await getApp('watched');
    const second = await startControlPlane(test.url, withFolder, plane.adminKey);
    try {
      await eventually(async () => expect((await getApp('watched')).generation).toBeGreaterThan(generation));
      expect(runtime.indexed).toHaveLength(indexed);
    } finally {
      await second.stop();
    }
    const without = await startControlPlane(test.url, environment(), plane.adminKey);
    try {
      await eventually(async () => expect((await getApp('watched')).state).toBe('deleting'));
    } finally {
      await without.stop();
    }
  });
});
