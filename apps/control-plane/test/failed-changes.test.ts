import { FailedChanges } from '@drover/collection-engine';
import { collectionRoutes, createClient, failedChangeRoutes, type Scope } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneSchema } from '../src/schema.js';
import { startControlPlane, type RunningControlPlane } from './support/control-plane.js';
import { storeKey } from './support/stored-keys.js';

let test: TestDatabase;
let database: Database;
let plane: RunningControlPlane;
let failed: FailedChanges;

beforeAll(async () => {
  test = await createTestDatabase(controlPlaneSchema);
  plane = await startControlPlane(test.url);
  database = await test.connect();
  failed = new FailedChanges(database);
});
afterAll(async () => {
  await plane?.stop();
  await test.drop();
});

const recordId = '0190a000-0000-7000-8000-000000000001';

async function clientWith(tenantId: string, scopes: Scope[]) {
  const apiKey = await storeKey(database, { tenantId, scopes });
  return createClient(failedChangeRoutes, { url: plane.url, apiKey });
}

/** Defines a collection and stores three changes that the function `bill` gave up. */
async function giveUp(tenantId: string, name: string): Promise<void> {
  const apiKey = await storeKey(database, { tenantId, scopes: ['collections:define'] });
  const { id: collectionId } = await createClient(collectionRoutes, { url: plane.url, apiKey }).createCollection({
    body: { name, fields: [] },
  });
  const of = { tenantId, application: 'shop', functionName: 'bill', collectionId };
  for (const position of [1, 2, 3]) {
    const json = JSON.stringify({ position: String(position), after: { name } });
    await failed.store(of, [{ position, kind: 'created', recordId, json }], { reason: 'it failed', deliveries: 5 });
  }
}

describe('/control/failed-changes', () => {
  it('lists, shows, replays and drops the changes that functions gave up', async () => {
    await giveUp('acme', 'orders');
    const client = await clientWith('acme', ['records:read', 'records:write']);
    const page = await client.listFailedChanges({ query: { limit: 2 } });
    expect(page.failedChanges).toMatchObject([
      { position: '3', function: 'bill', application: 'shop', collection: 'orders', state: 'failed', deliveries: 5 },
      { position: '2', recordId, kind: 'created', reason: 'it failed' },
    ]);
    const rest = await client.listFailedChanges({ query: { limit: 2, before: page.next ?? '' } });
    expect([rest.failedChanges.length, rest.next]).toEqual([1, undefined]);
    const id = rest.failedChanges[0]?.id ?? '';
    const params = { failedChangeId: id };
    expect(await client.getFailedChange({ params })).toMatchObject({ id, change: { after: { name: 'orders' } } });
    expect(await client.replayFailedChanges({ body: { ids: [id] } })).toEqual({ replaying: 1 });
    expect(await client.getFailedChange({ params })).toMatchObject({ state: 'replaying' });
    expect(await client.dropFailedChanges({ body: { ids: [id] } })).toEqual({ dropped: 1 });
    await expect(client.getFailedChange({ params })).rejects.toMatchObject({ code: 'FAILED_CHANGE_NOT_FOUND' });
    expect(await client.dropFailedChanges({ body: { function: 'other' } })).toEqual({ dropped: 0 });
    expect(await client.replayFailedChanges({ body: { all: true } })).toEqual({ replaying: 2 });
    await expect(client.dropFailedChanges({ body: {} })).rejects.toMatchObject({ status: 400 });
  });

  it('needs the right to read or write the records of the collection', async () => {
    await giveUp('limited', 'orders');
    await giveUp('limited', 'lines');
    const other = await clientWith('other', ['records:read', 'records:write']);
    expect((await other.listFailedChanges({ query: {} })).failedChanges).toEqual([]);
    expect(await other.dropFailedChanges({ body: { all: true } })).toEqual({ dropped: 0 });
    const reader = await clientWith('limited', ['records:read:lines']);
    const { failedChanges } = await reader.listFailedChanges({ query: {} });
    expect(new Set(failedChanges.map(({ collection }) => collection))).toEqual(new Set(['lines']));
    expect((await reader.listFailedChanges({ query: { collection: 'orders' } })).failedChanges).toEqual([]);
    await expect(reader.dropFailedChanges({ body: { all: true } })).rejects.toMatchObject({ status: 403 });
    const writer = await clientWith('limited', ['records:write:orders']);
    expect(await writer.replayFailedChanges({ body: { collection: 'lines' } })).toEqual({ replaying: 0 });
    expect(await writer.dropFailedChanges({ body: { all: true } })).toEqual({ dropped: 3 });
    expect((await reader.listFailedChanges({ query: {} })).failedChanges).toHaveLength(3);
  });
});
