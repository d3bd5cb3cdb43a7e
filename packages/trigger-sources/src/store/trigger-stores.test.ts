import { Secret } from '@drover/service-kit';
import { FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import type { TriggerStoreObservation } from './observations.js';
import { TriggerStores } from './trigger-stores.js';

const never = new AbortController().signal;
const nowhere = 'postgres://drover:hidden@127.0.0.1:1/none';

function setUp(databaseUrl?: () => Promise<Secret>) {
  const seen: TriggerStoreObservation[] = [];
  const clock = new FakeClock();
  const stores = new TriggerStores({
    databaseUrl,
    release: 'test',
    clock,
    randomness: seededRandomness(1),
    observe: (o) => void seen.push(o),
  });
  return { stores, clock, seen };
}

describe('the choice of a trigger store', () => {
  it('is memory without a database and a storage account, shared by all applications, with one warning', async () => {
    const { stores, seen } = setUp();
    const [one, other] = [stores.of({}), stores.of({ AzureWebJobsStorage: ' ' })];
    expect(seen).toEqual([]);
    await one.write('k', 'v', undefined, never);
    expect((await other.read('k', never))?.value).toBe('v');
    expect(seen).toEqual([{ kind: 'trigger-store.opened', store: 'memory' }]);
  });

  it('is the account of AzureWebJobsStorage if there is no database', async () => {
    const { stores, seen } = setUp();
    const store = stores.of({ AzureWebJobsStorage: 'rubbish' });
    await expect(store.read('k', never)).rejects.toMatchObject({
      code: 'TRIGGER_STORE_UNAVAILABLE',
      message: expect.stringContaining('AzureWebJobsStorage is not a storage connection string'),
    });
    expect(seen).toMatchObject([{ kind: 'trigger-store.unavailable', store: 'blobs' }]);
  });

  it('is the database if there is one, which is asked for at the first use', async () => {
    let asked = 0;
    const { stores, seen } = setUp(async () => {
      asked += 1;
      throw new Error('the file does not exist yet');
    });
    const store = stores.of({ AzureWebJobsStorage: 'UseDevelopmentStorage=true' });
    expect(stores.of({})).toBe(store);
    expect(asked).toBe(0);
    await expect(store.read('k', never)).rejects.toMatchObject({ code: 'TRIGGER_STORE_UNAVAILABLE', retryable: true });
    await expect(store.read('k', never)).rejects.toThrow('the file does not exist yet');
    expect(asked).toBe(2);
    expect(seen).toHaveLength(1); // one outage
  });

  it('reports an outage once, without the password, and gives up with the signal of its caller', async () => {
    const { stores, seen } = setUp(() => Promise.resolve(new Secret(nowhere)));
    const store = stores.of({});
    const failures = await Promise.allSettled([1, 2, 3].map(() => store.read('k', never)));
    expect(failures.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(seen).toMatchObject([{ kind: 'trigger-store.unavailable', store: 'postgresql', operation: 'read' }]);
    expect(JSON.stringify([failures, seen.map((o) => String('error' in o && o.error))])).not.toContain('hidden');
    const abort = new AbortController();
    const reading = store.read('k', abort.signal);
    abort.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    expect(seen).toHaveLength(1);
  });

  it('is closed with its runtime', async () => {
    const { stores } = setUp(() => Promise.resolve(new Secret(nowhere)));
    const store = stores.of({});
    await stores.stop();
    await expect(store.read('k', never)).rejects.toThrow('the runtime has stopped');
  });
});
