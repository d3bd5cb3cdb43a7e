import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  PreparedTrigger,
} from '../binding-extension.js';
import { collectionsUnavailable } from '../errors.js';
import type { TriggerStoreObservation } from '../store/observations.js';
import { checkpointKey } from './collection-checkpoint.js';
import { CollectionListener } from './collection-listener.js';
import { collectionTriggerOptions } from './collection-options.js';
import type { CollectionRecords } from '../collection-records.js';
import type { CollectionObservation } from './observations.js';
import { parkedCollection } from './parked-collection.js';

interface CollectionHost {
  /** `singleton` of host.json. */
  readonly singleton: { readonly listenerLockPeriodMs: number };
}
type CollectionParts = ExtensionParts<CollectionHost, CollectionObservation | TriggerStoreObservation>;

/** The collections of the tenant of one application. */
class CollectionExtension implements BindingExtension {
  readonly #parts: CollectionParts;

  constructor(parts: CollectionParts) {
    this.#parts = parts;
  }

  prepare({ functionName, options: binding }: BindingRequest): PreparedTrigger {
    const { application, host, clock, randomness, observe, store } = this.#parts;
    const options = collectionTriggerOptions({ functionName, binding });
    const records = this.#records(functionName);
    const key = checkpointKey(application, functionName, options.collection);
    const leaseMs = host.singleton.listenerLockPeriodMs;
    return {
      unknownKeys: options.unknownKeys,
      retryBackOffMs: options.retryBackOffMs,
      listen: (deliver) =>
        new CollectionListener({
          functionName,
          options,
          records,
          store,
          key,
          leaseMs,
          deliver,
          clock,
          randomness,
          observe,
        }),
      park: () =>
        parkedCollection({
          options,
          records,
          store,
          key,
          address: this.#address(records, options.collection),
          randomness,
        }),
    };
  }

  /** Identifies a collection among all sources of this process. */
  #address({ tenantId }: CollectionRecords, collection: string): string {
    return `collection ${tenantId}/${collection}`;
  }

  #records(functionName: string): CollectionRecords {
    const { records } = this.#parts;
    if (!records) throw collectionsUnavailable({ functionName });
    return records;
  }
}

export const collectionExtension: BindingExtensionFactory<
  CollectionHost,
  CollectionObservation | TriggerStoreObservation
> = {
  types: { triggers: ['collectionTrigger'], inputs: [], outputs: [] },
  create: (parts) => new CollectionExtension(parts),
};
