import { randomUUID } from 'node:crypto';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { AzureQueueAccount } from '../queue/azure-storage-queue.js';
import type { QueueObservation } from '../queue/observations.js';
import type { StorageQueue } from '../queue/storage-queue.js';
import { SourceWakeups } from '../source-wakeups.js';
import { storageConnection } from '../storage/storage-connection.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import type { TriggerStore } from '../store/trigger-store.js';
import type { Deliver } from '../trigger-source.js';
import { AzureBlobAccount } from './azure-blob-account.js';
import type { BlobContainer } from './blob-container.js';
import { BlobListener } from './blob-listener.js';
import { foundQueue, poisonQueue } from './blob-message.js';
import { blobTriggerOptions, type BlobTriggerOptions } from './blob-options.js';
import { BlobOutput } from './blob-output.js';
import { ContentBudget } from './content-budget.js';
import type { BlobObservation } from './observations.js';

const never = new AbortController().signal;

/** A container of its own at a real service, with what a process has around it. */
export class BlobBench {
  readonly application = `app-${randomUUID().slice(0, 8)}`;
  readonly functionName = 'resize';
  readonly containerName: string;
  readonly wakeups = new SourceWakeups();
  readonly observed: (BlobObservation | QueueObservation)[] = [];
  readonly account: AzureBlobAccount;
  readonly queues: AzureQueueAccount;
  readonly options: BlobTriggerOptions;
  readonly store: TriggerStore;

  constructor(
    connectionString: string,
    binding: Readonly<Record<string, unknown>> = {},
    store: TriggerStore = new MemoryTriggerStore(),
  ) {
    const { functionName } = this;
    const request = { functionName, connection: 'Shop', settings: { Shop: connectionString } };
    this.store = store;
    this.account = new AzureBlobAccount(storageConnection({ service: 'blob', ...request }));
    this.queues = new AzureQueueAccount(storageConnection({ service: 'queue', ...request }));
    this.containerName = `photos-${randomUUID().slice(0, 8)}`;
    this.options = blobTriggerOptions({
      functionName,
      host: { scanInterval: 500 },
      binding: { path: `${this.containerName}/{name}`, ...binding },
      cores: 1,
    });
  }

  get container(): BlobContainer {
    return this.account.container(this.options.pattern.container);
  }

  /** Found versions that wait or run. */
  get found(): StorageQueue {
    return this.queues.queue(foundQueue(this.application, this.functionName));
  }

  get poison(): StorageQueue {
    return this.queues.queue(poisonQueue);
  }

  listener(deliver: Deliver): BlobListener {
    const { account, queues, options, store, application } = this;
    return new BlobListener({
      ...this.#io(),
      application,
      account,
      hostQueues: queues,
      ownQueues: queues,
      options,
      deliver,
      store,
      budget: new ContentBudget(),
    });
  }

  /** Writes a blob through an output, which wakes the listeners. */
  write(name: string, body: string | Uint8Array, contentType = 'text/plain'): Promise<void> {
    const path = { container: this.containerName, name };
    const output = new BlobOutput({
      ...this.#io(),
      account: this.account,
      options: { path, contentType, dataType: 'bytes', isSdkBinding: false },
    });
    return output.send([{ body }], never);
  }

  kinds(...kinds: readonly (BlobObservation | QueueObservation)['kind'][]): (BlobObservation | QueueObservation)[] {
    return this.observed.filter(({ kind }) => kinds.includes(kind));
  }

  #io() {
    const { functionName, wakeups } = this;
    const observe = (observation: BlobObservation | QueueObservation): void => void this.observed.push(observation);
    return { functionName, wakeups, clock: systemClock, randomness: systemRandomness, observe };
  }
}
