import type { CatalogedCollection, Caller, CollectionChange, CollectionStore } from '@drover/collection-engine';
import type { ApiKeyId, CollectionDefinition, TenantId } from '@drover/contracts';
import { FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { CollectionDefinitions } from './collection-definitions.js';
import { DefinitionChanges } from './definition-changes.js';
import type { DefinitionObservation } from './observations.js';

const caller: Caller = {
  keyId: 'k' as ApiKeyId, // the test is what makes it one
  tenantId: 't' as TenantId,
  scopes: ['collections:define'],
  expiresAt: undefined,
};
const at = new Date(0);
const definition: CollectionDefinition = { name: 'orders', fields: [] };
const collection: CatalogedCollection = {
  id: 'c',
  tenantId: 't',
  version: 3,
  definition,
  table: 'orders',
  columns: {},
  createdAt: at,
  createdBy: 'k',
  updatedAt: at,
  updatedBy: 'k',
};
const change: CollectionChange = {
  id: 'x',
  collectionId: 'c',
  fromVersion: 3,
  state: 'running',
  step: 'Build an index',
  recordsDone: 1,
  recordsTotal: 2,
  refusals: [],
  createdAt: at,
  createdBy: 'k',
  endedAt: undefined,
};

/** Changes of one collection, whose change is found in these states one after the other. */
function setUp(found: CatalogedCollection, states: readonly CollectionChange[], waitMs: number) {
  const observed: DefinitionObservation[] = [];
  const requests: (number | undefined)[] = [];
  const store = { find: () => Promise.resolve(found), list: () => Promise.resolve([found]) };
  const definitions = new CollectionDefinitions({
    store: store as unknown as CollectionStore, // all that a change uses of it
    canEncrypt: false,
    observe: (observation) => observed.push(observation),
  });
  const left = [...states];
  const changes = new DefinitionChanges({
    definitions,
    store,
    changes: {
      plan: () => Promise.resolve({ steps: [], refusals: [] }),
      list: () => Promise.resolve([]),
      find: () => Promise.resolve(left.shift()),
    },
    runner: {
      request: ({ expectedVersion }) => {
        requests.push(expectedVersion);
        return Promise.resolve(change);
      },
    },
    clock: new FakeClock(),
    waitMs,
  });
  const edited = () => changes.change(caller, 'orders', () => ({ input: { ...definition, history: true } }), undefined);
  return { edited, observed, requests };
}

describe('DefinitionChanges', () => {
  it('returns when the new version is current, though the change still cleans up', async () => {
    const current = { ...collection, version: 4 };
    const { edited, observed, requests } = setUp(current, [change], 1_000);
    await expect(edited()).resolves.toEqual({ collection: current });
    expect(observed).toMatchObject([{ change: 'changed', version: 4, keyId: 'k' }]);
    expect(requests).toEqual([4]);
  });

  it('returns the running change after the time that a request may take', async () => {
    const { edited, observed } = setUp(collection, [change], 0);
    await expect(edited()).resolves.toEqual({ collection, running: change });
    expect(observed).toEqual([]);
  });

  it('reports records that came in the way while the change ran', async () => {
    const refusals = [{ path: '/fields/0', message: '2 records have no value.', records: 2 }];
    const { edited } = setUp(collection, [{ ...change, state: 'refused', refusals }], 1_000);
    await expect(edited()).rejects.toMatchObject({ code: 'COLLECTION_CHANGE_REFUSED', details: { refusals } });
  });

  it('knows no collection that was deleted and created again meanwhile', async () => {
    const { edited } = setUp({ ...collection, id: 'another', version: 9 }, [change], 1_000);
    await expect(edited()).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
  });
});
