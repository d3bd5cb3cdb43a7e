import { executionStoreContract } from '../testing/execution-store-contract.js';
import { openPostgresStores } from '../testing/postgres-stores.js';

executionStoreContract('PostgreSQL', async (clock, limits) => {
  const stores = await openPostgresStores(clock);
  const { store } = await stores.open(limits);
  return { store, runMaintenance: () => store.runMaintenance(), close: () => stores.close() };
});
