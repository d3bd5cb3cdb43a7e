import { executionStoreContract } from '../testing/execution-store-contract.js';
import { openPostgresWorld } from '../testing/postgres-world.js';

executionStoreContract('PostgreSQL', async (clock, limits) => {
  const world = await openPostgresWorld(clock);
  const { store } = await world.open(limits);
  return { store, keepUp: () => store.keepUp(), close: () => world.close() };
});
