import type { Clock, Lifecycle, Randomness, Secret } from '@drover/service-kit';
import type { CollectionRecords } from '@drover/trigger-sources';

export interface RuntimeRecordsOptions {
  /** Resolves with the URL of the database, or rejects while it is not known. */
  readonly databaseUrl: () => Promise<Secret>;
  readonly clock: Clock;
  readonly randomness: Randomness;
}

/** The collections of all tenants, connected. */
export interface OpenRecords {
  of(tenantId: string): CollectionRecords;
  close(): Promise<void>;
}

/**
 * The collections of the tenants of a runtime, for triggers and bindings. The engine is loaded and connected at the first use: few
 * applications use collections. A failed connection is tried again at the next use.
 */
export class RuntimeRecords implements Lifecycle {
  readonly name = 'records';
  readonly #options: RuntimeRecordsOptions;
  #opened: Promise<OpenRecords> | undefined;
  #isClosed = false;

  constructor(options: RuntimeRecordsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.close();
  }

  of(tenantId: string): CollectionRecords {
    const records = async (): Promise<CollectionRecords> => (await this.#open()).of(tenantId);
    return {
      tenantId,
      position: async (signal) => (await records()).position(signal),
      async *follow(collection, after, signal) {
        yield* (await records()).follow(collection, after, signal);
      },
      count: async (...given) => (await records()).count(...given),
      storeFailed: async (...given) => (await records()).storeFailed(...given),
      async *replays(of, signal) {
        yield* (await records()).replays(of, signal);
      },
      countReplays: async (...given) => (await records()).countReplays(...given),
      removeFailed: async (...given) => (await records()).removeFailed(...given),
      get: async (...given) => (await records()).get(...given),
      list: async (...given) => (await records()).list(...given),
      write: async (request) => (await records()).write(request),
    };
  }

  #open(): Promise<OpenRecords> {
    if (this.#isClosed) return Promise.reject(new Error('the runtime has stopped'));
    if (this.#opened) return this.#opened;
    const opening = this.#connect();
    this.#opened = opening;
    opening.catch(() => (this.#opened = undefined));
    return opening;
  }

  async #connect(): Promise<OpenRecords> {
    const { openRecords } = await import('./open-records.js');
    return openRecords({ ...this.#options, url: await this.#options.databaseUrl() });
  }
}
