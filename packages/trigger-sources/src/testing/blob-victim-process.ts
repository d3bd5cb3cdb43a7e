import { systemClock, systemRandomness } from '@drover/service-kit';
import { AzureBlobAccount } from '../blob/azure-blob-account.js';
import { BlobListener } from '../blob/blob-listener.js';
import { blobTriggerOptions } from '../blob/blob-options.js';
import { ContentBudget } from '../blob/content-budget.js';
import { AzureQueueAccount } from '../queue/azure-storage-queue.js';
import { SourceWakeups } from '../source-wakeups.js';
import { storageConnection, type StorageService } from '../storage/storage-connection.js';
import { openBlobStore } from '../store/blob-trigger-store.js';
import type { Settlement } from '../trigger-source.js';
import type { BlobVictimAssignment } from './victims.js';

process.once('disconnect', () => process.exit());
const { connectionString, application, functionName, binding, settles } = JSON.parse(
  process.argv[2] ?? '',
) as BlobVictimAssignment; // from startBlobVictim

const settings = { AzureWebJobsStorage: connectionString };
const connected = (service: StorageService) =>
  storageConnection({ service, functionName, connection: undefined, settings });
const queues = new AzureQueueAccount(connected('queue'));
const listener = new BlobListener({
  application,
  functionName,
  account: new AzureBlobAccount(connected('blob')),
  hostQueues: queues,
  ownQueues: queues,
  options: blobTriggerOptions({ functionName, host: {}, binding, cores: 1 }),
  deliver: ({ data }) => {
    process.stdout.write(`got ${String(data)}\n`);
    return settles === 'everything' ? Promise.resolve({ kind: 'complete' }) : new Promise<Settlement>(() => undefined);
  },
  store: await openBlobStore(connected('blob')),
  budget: new ContentBudget(),
  wakeups: new SourceWakeups(),
  clock: systemClock,
  randomness: systemRandomness,
  observe: () => undefined,
});
await listener.start(new AbortController().signal);
process.stdout.write('listening\n');
