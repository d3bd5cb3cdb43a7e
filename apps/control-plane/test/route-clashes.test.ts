import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  applicationRoutes,
  collectionRoutes,
  createClient,
  defaultTenantId,
  type CollectionDefinition,
} from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { eventually } from '@drover/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { indexOf, ScriptedRuntime } from './support/scripted-runtime.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;
let database: Database;
let runtime: ScriptedRuntime;
let plane: RunningControlPlane;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'drover-clashes-'));
  test = await createTestDatabase(controlPlaneSchema);
  database = await test.connect();
  runtime = await ScriptedRuntime.open();
  plane = await startControlPlane(test.url, { DROVER_RUNTIME_URL: runtime.url });
});
afterAll(async () => {
  await plane?.stop();
  await runtime?.close();
  await test.drop();
  await rm(directory, { recursive: true, force: true });
});
// In a transaction, which is repeated after a deadlock with a pass over assignments.
afterEach(() => database.transaction((tx) => tx.query('truncate drover.applications, drover.collections cascade')));

const collections = () => createClient(collectionRoutes, { url: plane.url, apiKey: plane.adminKey });
const apps = () => createClient(applicationRoutes, { url: plane.url, apiKey: plane.adminKey });
const by = (collection: string) => ({ params: { collection }, query: {} });
const definitionOf = (name: string): CollectionDefinition => ({ name, fields: [{ name: 'number', type: 'STRING' }] });
const define = (name: string) => collections().createCollection({ body: definitionOf(name) });

/** Deploys a version of an app whose functions have these names and routes. Returns the version. */
async function deploy(app: string, routes: readonly string[], trafficPercent = 100): Promise<string> {
  const folder = path.join(directory, `${app}-${routes.join('-')}`);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'host.json'), '{"version":"2.0"}');
  await writeFile(path.join(folder, 'index.js'), routes.join());
  runtime.index = () => indexOf('m1', routes);
  const body = { directory: folder, trafficPercent };
  return (await apps().deployApplication({ params: { app }, body })).version.version;
}

const collectionRefused = { code: 'COLLECTION_ROUTE_TAKEN', status: 409 };
const applicationRefused = { code: 'APPLICATION_ROUTE_TAKEN', status: 409 };
const clashes = async () => (await plane.client(plane.adminKey).listRouteClashes()).clashes;

describe('a path of a function', () => {
  it('cannot become that of a collection: neither by a definition, nor by a set, nor by a new name', async () => {
    await deploy('shop', ['orders', 'hello']);
    await expect(define('orders')).rejects.toMatchObject({
      ...collectionRefused,
      message: expect.stringMatching(/"orders".*\/api\/orders.*"orders" of the application "shop"/),
    });
    const set = { body: { collections: [definitionOf('notes'), definitionOf('orders')] } };
    await expect(collections().applyCollections(set)).rejects.toMatchObject(collectionRefused);
    const { plans } = await collections().planCollections(set);
    expect(plans.map(({ refusals }) => refusals)).toEqual([
      [],
      [{ path: '/name', message: expect.stringContaining('"shop"') }],
    ]);
    await define('parcels');
    const renamed = { ...by('parcels'), body: { name: 'hello' } };
    await expect(collections().patchCollection(renamed)).rejects.toMatchObject(collectionRefused);
    // This one needs work on the table, which begins only with names that are free.
    const fields: CollectionDefinition['fields'] = [{ name: 'number', type: 'STRING', required: true, unique: true }];
    const changed = { ...by('parcels'), body: { name: 'hello', fields } };
    await expect(collections().patchCollection(changed)).rejects.toMatchObject(collectionRefused);
    expect((await collections().listCollections({ query: {} })).collections.map(({ name }) => name)).toEqual([
      'parcels',
    ]);
    await define('orders-archive');
  });

  it('is free again when no version with traffic has it, and when the application is deleted', async () => {
    const before = await deploy('shop', ['orders']);
    await deploy('shop', ['hello']);
    await define('orders');
    await expect(
      apps().setTraffic({ params: { app: 'shop' }, body: { traffic: { [before]: 100 } } }),
    ).rejects.toMatchObject(applicationRefused);
    await deploy('notes', ['notes']);
    await expect(define('notes')).rejects.toMatchObject(collectionRefused);
    await apps().deleteApplication({ params: { app: 'notes' } });
    await define('notes');
    expect(await clashes()).toEqual([]);
  });

  it('is refused to collections of its own tenant only', async () => {
    await deploy('shop', ['orders']);
    const apiKey = await storeKey(database, { tenantId: 'globex', scopes: ['collections:define'] });
    const globex = createClient(collectionRoutes, { url: plane.url, apiKey });
    expect(await globex.createCollection({ body: definitionOf('orders') })).toMatchObject({ name: 'orders' });
  });

  it('that the records API needs is refused to the first collection', async () => {
    await deploy('shop', ['operations']);
    await expect(define('orders')).rejects.toMatchObject({
      ...collectionRefused,
      message: expect.stringContaining('The records API would serve /api/operations'),
    });
  });
});

describe('a route of an application', () => {
  it('cannot become that of another one of the tenant; the message has both names, and the version that runs goes on', async () => {
    const running = await deploy('shop', ['hello']);
    await deploy('other', ['orders']);
    await expect(deploy('other', ['orders', 'Hello'])).rejects.toMatchObject({
      ...applicationRefused,
      message: expect.stringMatching(
        /"other" was not changed.*"Hello" has the route "api\/Hello", but the function "hello" of the application "shop"/,
      ),
    });
    expect((await apps().listApplications()).applications).toMatchObject([
      { name: 'other', versions: [{}] },
      { name: 'shop', traffic: { [running]: 100 } },
    ]);
    await apps().deleteApplication({ params: { app: 'shop' } });
    await deploy('other', ['orders', 'Hello']);
    expect(await clashes()).toEqual([]);
  });

  it('that it has already stays its own, and is told of', async () => {
    const before = await deploy('shop', ['hello']);
    await deploy('shop', ['bye']);
    await deploy('other', ['hello']);
    await apps().rollBackApplication({ params: { app: 'shop' }, body: { version: before } });
    expect(await clashes()).toMatchObject([
      { path: '/api/hello', application: 'other', otherApplication: 'shop', otherFunction: 'hello' },
    ]);
    await deploy('shop', ['hello', 'more']);
  });
});

describe('a path of a collection', () => {
  it('cannot become that of a function, and the version that runs goes on', async () => {
    const running = await deploy('shop', ['hello']);
    await define('orders');
    for (const routes of [['Orders'], ['hello', 'orders'], ['_search']])
      await expect(deploy('shop', routes)).rejects.toMatchObject(applicationRefused);
    await expect(deploy('other', ['orders'])).rejects.toMatchObject({
      ...applicationRefused,
      message: expect.stringMatching(/"other".*"api\/orders".*the collection "orders" serves \/api\/orders/),
    });
    const { applications } = await apps().listApplications();
    expect(applications).toMatchObject([{ name: 'shop', traffic: { [running]: 100 }, versions: [{}] }]);
    await collections().deleteCollection(by('orders'));
    await deploy('shop', ['orders']);
  });
});

describe('of a definition and a deployment that come at the same time', () => {
  it.each(['orders', 'notes'])('the later one is refused (%s)', async (name) => {
    await deploy('shop', ['hello']);
    const lock = `drover.routes ${defaultTenantId}`;
    const attempts = await database.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [lock]);
      const both = [define(name), deploy('shop', ['hello', name])];
      await eventually(async () => {
        const waiting = await database.query("select from pg_locks where locktype = 'advisory' and not granted");
        expect(waiting).toHaveLength(2);
      });
      return { ended: Promise.allSettled(both) };
    });
    const ended = await attempts.ended;
    const refused = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason as { code: string }] : []));
    expect(refused.map(({ code }) => code)).toEqual([
      expect.stringMatching(/^(?:COLLECTION|APPLICATION)_ROUTE_TAKEN$/),
    ]);
    expect(await clashes()).toEqual([]);
  });
});

describe('a clash that exists', () => {
  it('is listed, and neither side is refused its next change', async () => {
    const before = await deploy('shop', ['orders']);
    await deploy('shop', ['hello']);
    await define('orders');
    // The way back to a version that works is never closed.
    await apps().rollBackApplication({ params: { app: 'shop' }, body: { version: before } });
    expect(await clashes()).toEqual([
      { path: '/api/orders', collection: 'orders', application: 'shop', function: 'orders', route: 'api/orders' },
    ]);
    await deploy('shop', ['orders', 'more']);
    await collections().patchCollection({ ...by('orders'), body: { description: 'all of them' } });
    await define('notes');
  });

  it('goes on if both were stored by a release that did not check', async () => {
    await deploy('shop', ['orders']);
    await database.query(
      `update drover.application_versions set function_index = jsonb_set(function_index, '{functions,0}', (function_index #> '{functions,0}') - 'route')`,
    );
    await define('orders');
    expect(await clashes()).toEqual([]);
    await deploy('shop', ['orders']);
    expect(await clashes()).toMatchObject([{ collection: 'orders', application: 'shop' }]);
  });
});
