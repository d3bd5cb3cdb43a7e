import type { WorkQuestion, WorkSource } from '../notifications/work-notes.js';
import type { StorageQueueStore } from './storage-queue-store.js';

/** Answers whether a storage queue has a visible message. */
export class QueueWork implements WorkSource {
  readonly service = 'queues';
  readonly #store: StorageQueueStore;

  constructor(store: StorageQueueStore) {
    this.#store = store;
  }

  /** The queue need not exist yet. */
  question({ account, entity }: Readonly<Record<string, unknown>>): WorkQuestion | undefined {
    if (typeof account !== 'string' || typeof entity !== 'string') return undefined;
    return {
      entity: `${account}/${entity}`,
      look: () => {
        const queue = this.#store.findQueue(account, entity);
        return queue !== undefined && (queue.ready(1).length > 0 || (queue.nextVisibleAt ?? false));
      },
    };
  }
}
