import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  InputValue,
  PreparedTrigger,
} from '../binding-extension.js';
import { collectionsUnavailable } from '../errors.js';
import type { TriggerStoreObservation } from '../store/observations.js';
import type { OutputTarget } from '../trigger-source.js';
import { checkpointKey } from './collection-checkpoint.js';
import { CollectionListener } from './collection-listener.js';
import { collectionInputOptions, collectionOutputOptions, collectionTriggerOptions } from './collection-options.js';
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
          application,
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
          application,
          functionName,
          options,
          records,
          store,
          key,
          address: this.#address(records, options.collection),
          randomness,
        }),
    };
  }

  async read({ functionName, options: binding }: BindingRequest): Promise<InputValue> {
    const { collection, id, query } = collectionInputOptions({ functionName, binding });
    const records = this.#records(functionName);
    if (id === undefined) return { json: await records.list(collection, query) };
    const found = await records.get(collection, id);
    return found === undefined ? undefined : { json: found };
  }

  target({ functionName, options: binding }: BindingRequest): OutputTarget {
    const options = collectionOutputOptions({ functionName, binding });
    const records = this.#records(functionName);
    const { wakeups } = this.#parts;
    return {
      send: async (messages) => {
        if (messages.length === 0) return;
        const texts = messages.map(({ body }) =>
          typeof body === 'string' ? body : Buffer.from(body).toString('utf8'),
        );
        await records.write({ functionName, ...options, records: texts });
        wakeups.wake(this.#address(records, options.collection));
      },
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
  types: { triggers: ['collectionTrigger'], inputs: ['collection'], outputs: ['collection'] },
  create: (parts) => new CollectionExtension(parts),
};
