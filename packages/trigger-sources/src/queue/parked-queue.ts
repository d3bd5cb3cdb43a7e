import type { NotifyingEndpoint, ParkedSource } from '../parked-trigger.js';
import { secretFingerprint } from '../secret-fingerprint.js';
import type { StorageConnection } from '../storage/storage-connection.js';
import type { WatchedEntity } from '../watch/notification-endpoints.js';
import { AzureQueueAccount } from './azure-storage-queue.js';
import type { QueueOptions } from './queue-options.js';
import { failureOf, type QueueAccount } from './storage-queue.js';

interface ParkedQueueOptions {
  readonly connection: StorageConnection;
  readonly options: Pick<QueueOptions, 'queueName' | 'maxPollingIntervalMs'>;
  /** Creates the account for polling. */
  readonly open?: (connection: StorageConnection) => QueueAccount;
}

/** How messages in a storage queue are noticed: an emulator tells, any other service is polled. */
export function parkedQueue({
  connection,
  options: { queueName, maxPollingIntervalMs },
  open = (found) => new AzureQueueAccount(found),
}: ParkedQueueOptions): ParkedSource {
  const { endpoint } = connection;
  const access = `${endpoint} ${accessOf(connection)}`;
  return {
    kind: 'source',
    key: `queue ${queueName} of ${access}`,
    name: `queue ${queueName}`,
    address: `${endpoint}/${queueName}`,
    notifications: notificationsOf(endpoint, queueName),
    longestPollMs: maxPollingIntervalMs,
    hasWork: async (clients, signal) => {
      const { account } = clients.get(`queues ${access}`, () => ({
        account: open(connection),
        close: () => Promise.resolve(),
      }));
      try {
        return (await account.queue(queueName).peek(signal)) !== undefined;
      } catch (error) {
        if (failureOf(error) === 'queue-missing') return false;
        throw error;
      }
    },
  };
}

/** Distinguishes credentials. A credential object belongs to one application, and so does the setting that it comes with. */
export function accessOf(connection: StorageConnection): string {
  if (connection.kind === 'shared-key') return secretFingerprint(connection.key);
  return connection.credential ? `by ${connection.setting}` : secretFingerprint(connection.query);
}

function notificationsOf(endpoint: string, entity: string): NotifyingEndpoint | undefined {
  const watched = watchedQueue(endpoint, entity);
  return watched && { origin: watched.origin, interest: () => Promise.resolve(watched.interest) };
}

/** Emulators have the account in the path, and plain HTTP. One that is not ours does not answer, and is polled. */
export function watchedQueue(endpoint: string, entity: string): WatchedEntity | undefined {
  const { protocol, origin, pathname } = new URL(endpoint);
  const account = pathname.slice(1);
  if (protocol !== 'http:' || account === '') return undefined;
  return { origin, interest: { service: 'queues', account, entity } };
}
