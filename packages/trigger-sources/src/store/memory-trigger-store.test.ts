import { triggerStoreContract } from '../testing/trigger-store-contract.js';
import { MemoryTriggerStore } from './memory-trigger-store.js';

triggerStoreContract('memory', async () => {
  const store = new MemoryTriggerStore();
  return { open: async () => store, close: async () => undefined };
});
