import type {
  CatalogedCollection,
  Caller,
  CollectionChange,
  CollectionStore,
  RequestedSet,
} from '@drover/collection-engine';
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
  setId: undefined,
  createdAt: at,
  createdBy: 'k',
  endedAt: undefined,
};

/** Changes of one collection, whose change is found in these states one after the other. */
function setUp(found: CatalogedCollection, states: readonly (CollectionChange | undefined)[], waitMs: number) {
  const observed: DefinitionObservation[] = [];
  const requests: RequestedSet[] = [];
  const store = {
    find: () => Promise.resolve(found),
    list: () => Promise.resolve([found]),
    renamedTo: () => Promise.resolve(undefined),
  };
  const definitions = new CollectionDefinitions({
    store: store as unknown as CollectionStore, // all that a change uses of it
    picklists: { list: () => Promise.resolve([]) },
    canEncrypt: false,
    observe: (observation) => observed.push(observation),
  });
  const left = [...states];
  const clock = new FakeClock();
  const changes = new DefinitionChanges({
    definitions,
    store,
    changes: {
      plan: () => Promise.resolve({ steps: [], refusals: [] }),
      list: () => Promise.resolve([]),
      find: () => Promise.resolve(left.shift()),
    },
    runner: {
      requestSet: (set) => {
        requests.push(set);
        return Promise.resolve({ changes: [change], created: [] });
      },
    },
    routeGuard: { ofNames: () => Promise.resolve([]) },
    clock,
    waitMs,
  });
  const edited = async (): Promise<unknown> => {
    const ended = changes.change(caller, 'orders', () => ({ input: { ...definition, history: true } }), undefined);
    ended.catch(() => undefined); // the caller awaits it below
    for (let turn = 0; turn < states.length; turn += 1) await clock.advance(20);
    return ended;
  };
  return { edited, observed, requests };
}

const done: CollectionChange = { ...change, state: 'done' };

describe('DefinitionChanges', () => {
  it('returns when the change has ended, and nothing of the version before is enforced', async () => {
    const current = { ...collection, version: 4 };
    const { edited, observed, requests } = setUp(current, [change, change, done], 1_000);
    await expect(edited()).resolves.toEqual({ collection: current });
    expect(observed).toMatchObject([{ change: 'changed', version: 4, keyId: 'k' }]);
    expect(requests).toMatchObject([{ changed: [{ name: 'orders', expectedVersion: 4 }], created: [] }]);
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

  it('knows no collection that was deleted meanwhile, with its changes', async () => {
    const { edited } = setUp(collection, [change, undefined], 1_000);
    await expect(edited()).rejects.toMatchObject({ code: 'COLLECTION_UNKNOWN' });
  });
});
