import { count, type Readers } from '@drover/service-kit';
import { describeStorageFailure } from '../storage/storage-failure.js';
import type { BlobFailure } from './blob-container.js';

/** Why a container cannot be scanned: itself, the store of scan states, or the queue of found versions. */
export type ScanFailure = BlobFailure | 'store' | 'queue';

interface Place {
  /** The function of the trigger or output. */
  readonly functionName: string;
  readonly container: string;
}

interface AboutBlob extends Place {
  readonly blob: string;
}

export type BlobObservation =
  | (Place & { readonly kind: 'blob.listener'; readonly state: string })
  | (Place & { readonly kind: 'blob.scanned'; readonly listed: number; readonly found: number; readonly ms: number })
  /** A runtime crashed while it queued these: some of them may run twice. */
  | (Place & { readonly kind: 'blob.requeued'; readonly blobs: number })
  /** Delivered before: `deliveryCount` includes this delivery. */
  | (AboutBlob & { readonly kind: 'blob.redelivered'; readonly deliveryCount: number })
  /** Not run: the version was deleted or replaced after it was found, or the trigger has another path now. */
  | (AboutBlob & { readonly kind: 'blob.skipped'; readonly why: 'deleted' | 'replaced' | 'not-matching' })
  | (AboutBlob & { readonly kind: 'blob.poisoned'; readonly reason: string })
  /** Observed once until the container exists. */
  | (Place & { readonly kind: 'blob.container-missing' })
  /** Observed once per failure, until the service is available again. */
  | (Place & {
      readonly kind: 'blob.unavailable';
      /** The setting with the connection. */
      readonly setting: string;
      readonly failure: ScanFailure;
      readonly error: unknown;
    })
  | (Place & { readonly kind: 'blob.available'; readonly afterMs: number })
  /** A subscription of the storage account was confirmed. */
  | { readonly kind: 'blob.subscribed'; readonly functionName: string }
  /** Created because an output writes to it. */
  | (Place & { readonly kind: 'blob.container-created' })
  | (AboutBlob & { readonly kind: 'blob.written'; readonly bytes: number });

const byFunction = {
  labelNames: ['function', 'container'],
  labels: (o: Place) => ({ function: o.functionName, container: o.container }),
} as const;

const skipped = {
  deleted: 'it was deleted',
  replaced: 'a newer version replaced it',
  'not-matching': 'the path of the trigger does not match it any more',
} as const;

function causeOf(failure: ScanFailure, setting: string): string {
  switch (failure) {
    case 'container-missing':
      return 'the container does not exist';
    case 'blob-missing':
      return 'the blob does not exist';
    case 'changed':
      return 'the blob has another version';
    case 'store':
      return 'the store of the scan state does not respond';
    case 'queue':
      return 'found blobs cannot be put into their queue; check the setting AzureWebJobsStorage';
    default:
      return describeStorageFailure(failure, setting);
  }
}

export const blobReaders: Readers<BlobObservation> = {
  'blob.listener': {
    level: 'debug',
    say: (o) => `the listener of ${o.functionName} on container ${o.container} is ${o.state}`,
  },
  'blob.scanned': {
    level: 'debug',
    say: (o) =>
      `${o.functionName} listed ${o.listed} blobs of container ${o.container} in ${Math.round(o.ms)} ms; ${o.found} are new`,
    metrics: [
      count<Place & { readonly found: number }, 'function' | 'container'>(
        'drover_blob_found_total',
        'New versions of blobs found by scans',
        { ...byFunction, value: (o) => o.found },
      ),
    ],
  },
  'blob.requeued': {
    level: 'warn',
    say: (o) =>
      `a runtime ended while it queued ${o.blobs} blobs of container ${o.container} for ${o.functionName}; they are queued again, and some may run twice`,
    metrics: [
      count<Place & { readonly blobs: number }, 'function' | 'container'>(
        'drover_blob_requeued_total',
        'Versions of blobs queued again after a crash',
        { ...byFunction, value: (o) => o.blobs },
      ),
    ],
  },
  'blob.redelivered': {
    level: 'info',
    say: (o) => `blob ${o.container}/${o.blob} is redelivered to ${o.functionName} (delivery ${o.deliveryCount})`,
    metrics: [count('drover_blob_redelivered_total', 'Versions of blobs that had been delivered before', byFunction)],
  },
  'blob.skipped': {
    level: 'info',
    say: (o) => `${o.functionName} does not run for blob ${o.container}/${o.blob}: ${skipped[o.why]}`,
    metrics: [count('drover_blob_skipped_total', 'Found versions of blobs that were not run', byFunction)],
  },
  'blob.poisoned': {
    level: 'warn',
    say: (o) =>
      `blob ${o.container}/${o.blob} is poison for ${o.functionName}; a message is in the queue webjobs-blobtrigger-poison: ${o.reason}`,
    metrics: [count('drover_blob_poisoned_total', 'Versions of blobs reported to the poison queue', byFunction)],
  },
  'blob.container-missing': {
    level: 'warn',
    say: (o) => `${o.functionName} waits for container ${o.container}, which does not exist`,
  },
  'blob.unavailable': {
    level: 'warn',
    say: (o) =>
      `${o.functionName} cannot use container ${o.container}: ${causeOf(o.failure, o.setting)}: ${String(o.error)}`,
    metrics: [count('drover_blob_unavailable_total', 'Times a container became unavailable', byFunction)],
  },
  'blob.available': {
    level: 'info',
    say: (o) => `${o.functionName} can use container ${o.container} again, after ${Math.round(o.afterMs)} ms`,
  },
  'blob.subscribed': {
    level: 'info',
    say: (o) => `an event subscription of a storage account is confirmed for ${o.functionName}`,
  },
  'blob.container-created': {
    level: 'info',
    say: (o) => `created container ${o.container}, an output of ${o.functionName}`,
  },
  'blob.written': {
    level: 'debug',
    say: (o) => `${o.functionName} wrote ${o.bytes} bytes to blob ${o.container}/${o.blob}`,
    metrics: [count('drover_blob_written_total', 'Blobs written by output bindings', byFunction)],
  },
};
