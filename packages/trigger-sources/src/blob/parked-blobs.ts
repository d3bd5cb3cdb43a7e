import type { Clock } from '@drover/service-kit';
import type { ParkedSource } from '../parked-trigger.js';
import { accessOf, parkedQueue } from '../queue/parked-queue.js';
import type { StorageConnection } from '../storage/storage-connection.js';
import type { TriggerStore } from '../store/trigger-store.js';
import { AzureBlobAccount } from './azure-blob-account.js';
import { blobFailureOf, type BlobContainer } from './blob-container.js';
import { foundQueue } from './blob-message.js';
import type { BlobPattern } from './blob-path.js';
import { ScanOwnership } from './scan-ownership.js';
import { newVersions, type ScanState } from './scan-state.js';

interface ParkedBlobsOptions {
  readonly application: string;
  readonly functionName: string;
  readonly connection: StorageConnection;
  /** Of the queue that found versions are distributed through. */
  readonly queueConnection: StorageConnection;
  readonly pattern: BlobPattern;
  readonly scanIntervalMs: number;
  readonly store: TriggerStore;
  readonly clock: Clock;
}

const pageSize = 1_000;

/** How blobs are noticed: no service tells, so the container is listed, and the queue of found versions is peeked at. */
export function parkedBlobs(given: ParkedBlobsOptions): ParkedSource {
  const { application, functionName, connection, queueConnection, pattern, scanIntervalMs, store, clock } = given;
  const { container, prefix } = pattern;
  const { endpoint } = connection;
  const address = `${endpoint}/${container}`;
  const found = parkedQueue({
    connection: queueConnection,
    options: { queueName: foundQueue(application, functionName), maxPollingIntervalMs: scanIntervalMs },
  });
  return {
    kind: 'source',
    key: `blobs of ${application} ${functionName} at ${address}/${prefix} ${accessOf(connection)}`,
    name: `container ${container}`,
    address,
    notifications: undefined,
    longestPollMs: scanIntervalMs,
    hasWork: async (clients, signal) => {
      if (await found.hasWork(clients, signal)) return true;
      const { account } = clients.get(`blobs ${endpoint} ${accessOf(connection)}`, () => ({
        account: new AzureBlobAccount(connection),
        close: () => Promise.resolve(),
      }));
      const key = `blobs/${application}/${functionName}`;
      const ownership = new ScanOwnership({ store, key, place: `${address}/${prefix}`, owner: '', clock });
      const { state } = await ownership.peek(signal);
      return state.queuing.length > 0 || (await hasNewVersion(account.container(container), pattern, state, signal));
    },
    preload: () => import('@azure/storage-blob'),
  };
}

/**
 * Looks for a version that no scan has found. Of a sweep that was interrupted, the pages before its marker are done except for what
 * was written since it began, and those behind it are not.
 */
async function hasNewVersion(
  container: BlobContainer,
  pattern: BlobPattern,
  state: ScanState,
  signal: AbortSignal,
): Promise<boolean> {
  const { sweep } = state;
  try {
    if (sweep && (await lists(container, pattern, state, sweep.marker, signal))) return true;
    return await lists(container, pattern, sweep ? { ...state, since: sweep.from } : state, undefined, signal);
  } catch (error) {
    if (blobFailureOf(error) === 'container-missing') return false;
    throw error;
  }
}

/** Whether a listing from the marker on has a version that is new to the state. */
async function lists(
  container: BlobContainer,
  pattern: BlobPattern,
  state: ScanState,
  from: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  let marker = from;
  do {
    const { blobs, next } = await container.list({ prefix: pattern.prefix, marker, count: pageSize }, signal);
    if (newVersions(state, blobs).some(({ name }) => pattern.match(name))) return true;
    marker = next;
  } while (marker !== undefined);
  return false;
}
