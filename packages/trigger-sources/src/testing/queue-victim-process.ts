import { systemClock, systemRandomness } from '@drover/service-kit';
import { AzureQueueAccount } from '../queue/azure-storage-queue.js';
import { QueueListener } from '../queue/queue-listener.js';
import { SourceWakeups } from '../source-wakeups.js';
import { storageConnection } from '../storage/storage-connection.js';
import type { Settlement } from '../trigger-source.js';
import type { VictimAssignment } from './victims.js';

process.once('disconnect', () => process.exit());
const { connectionString, options, settles } = JSON.parse(process.argv[2] ?? '') as VictimAssignment; // from startQueueVictim

const functionName = 'victim';
const settings = { AzureWebJobsStorage: connectionString };
const listener = new QueueListener({
  functionName,
  account: new AzureQueueAccount(
    storageConnection({ service: 'queue', functionName, connection: undefined, settings }),
  ),
  options,
  deliver: ({ data }) => {
    process.stdout.write(`got ${String(data)}\n`);
    return settles === 'everything' ? Promise.resolve({ kind: 'complete' }) : new Promise<Settlement>(() => undefined);
  },
  wakeups: new SourceWakeups(),
  clock: systemClock,
  randomness: systemRandomness,
  observe: () => undefined,
});
await listener.start(new AbortController().signal);
process.stdout.write('listening\n');
