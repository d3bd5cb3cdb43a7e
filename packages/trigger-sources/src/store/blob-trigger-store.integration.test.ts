import { afterAll, beforeAll } from 'vitest';
import { storageConnection } from '../storage/storage-connection.js';
import { startAzurite, type Azurite } from '../testing/azurite.js';
import { triggerStoreContract } from '../testing/trigger-store-contract.js';
import { openBlobStore } from './blob-trigger-store.js';
import type { TriggerStore } from './trigger-store.js';

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite('all');
});
afterAll(() => azurite.stop());

const never = new AbortController().signal;

triggerStoreContract('blobs', async () => {
  const settings = { AzureWebJobsStorage: azurite.connectionString };
  const connection = storageConnection({ service: 'blob', functionName: 'f', connection: undefined, settings });
  const open = (): Promise<TriggerStore> => openBlobStore(connection);
  return {
    open,
    close: async () => {
      const store = await open();
      for (const { key } of await store.list('', never)) await store.remove(key, never);
    },
  };
});
