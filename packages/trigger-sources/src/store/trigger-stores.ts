import type { Clock, Lifecycle, Observe, Randomness, Secret } from '@drover/service-kit';
import { rejectOnAbort } from '../requests.js';
import { hasStorageConnection, hostStorageSetting, storageConnection } from '../storage/storage-connection.js';
import { triggerStoreUnavailable } from '../errors.js';
import { openBlobStore } from './blob-trigger-store.js';
import { MemoryTriggerStore } from './memory-trigger-store.js';
import type { StoreKind, TriggerStoreObservation } from './observations.js';
import type { StoredState, TriggerStore } from './trigger-store.js';

export interface TriggerStoresOptions {
  /** Resolves with the URL of the database, or rejects while it is not known. Undefined: this runtime has no database. */
  readonly databaseUrl: (() => Promise<Secret>) | undefined;
  /** Recorded in the database with the tables. */
  readonly release: string;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TriggerStoreObservation>;
}

type Settings = Readonly<Record<string, string | undefined>>;

interface OpenStore {
  readonly store: TriggerStore;
  readonly close?: () => Promise<void>;
}

/**
 * Chooses where the state of an application's triggers is: the database of this runtime, else blobs in the account of
 * AzureWebJobsStorage, else memory. Each store is opened at its first use, since few applications need one: until then no
 * driver is loaded and no connection is made.
 */
export class TriggerStores implements Lifecycle {
  readonly name = 'trigger stores';
  readonly #options: TriggerStoresOptions;
  #database: LazyTriggerStore | undefined;
  #memory: LazyTriggerStore | undefined;

  constructor(options: TriggerStoresOptions) {
    this.#options = options;
  }

  /** Returns the store of an application with these settings. */
  of(settings: Settings): TriggerStore {
    const { databaseUrl } = this.#options;
    if (databaseUrl) return (this.#database ??= this.#lazily('postgresql', () => this.#openDatabase(databaseUrl)));
    if (hasStorageConnection(settings, hostStorageSetting)) return this.#lazily('blobs', () => openBlobs(settings));
    return (this.#memory ??= this.#lazily('memory', async () => ({ store: new MemoryTriggerStore() })));
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    await this.#database?.close();
  }

  #lazily(kind: StoreKind, open: () => Promise<OpenStore>): LazyTriggerStore {
    return new LazyTriggerStore(kind, open, this.#options);
  }

  async #openDatabase(databaseUrl: () => Promise<Secret>): Promise<OpenStore> {
    const { openPostgresStore } = await import('./postgres-trigger-store.js');
    return openPostgresStore({ ...this.#options, url: await databaseUrl() });
  }
}

async function openBlobs(settings: Settings): Promise<OpenStore> {
  const connection = storageConnection({
    service: 'blob',
    functionName: 'host',
    connection: hostStorageSetting,
    settings,
  });
  return { store: await openBlobStore(connection) };
}

/** Opens its store at the first use, and again after a failure. Every failure is TRIGGER_STORE_UNAVAILABLE; outages are observed once. */
class LazyTriggerStore implements TriggerStore {
  readonly #kind: StoreKind;
  readonly #open: () => Promise<OpenStore>;
  readonly #clock: Clock;
  readonly #observe: Observe<TriggerStoreObservation>;
  #opened: Promise<OpenStore> | undefined;
  #awaySinceMs: number | undefined;
  #isClosed = false;

  constructor(
    kind: StoreKind,
    open: () => Promise<OpenStore>,
    { clock, observe }: { readonly clock: Clock; readonly observe: Observe<TriggerStoreObservation> },
  ) {
    this.#kind = kind;
    this.#open = open;
    this.#clock = clock;
    this.#observe = observe;
  }

  read(key: string, signal: AbortSignal): Promise<StoredState | undefined> {
    return this.#use('read', signal, (store) => store.read(key, signal));
  }

  write(key: string, value: string, expected: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    return this.#use('write', signal, (store) => store.write(key, value, expected, signal));
  }

  list(prefix: string, signal: AbortSignal): Promise<readonly StoredState[]> {
    return this.#use('list', signal, (store) => store.list(prefix, signal));
  }

  remove(key: string, signal: AbortSignal): Promise<void> {
    return this.#use('remove', signal, (store) => store.remove(key, signal));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.close?.();
  }

  async #use<T>(operation: string, signal: AbortSignal, act: (store: TriggerStore) => Promise<T>): Promise<T> {
    try {
      if (this.#isClosed) throw new Error('the runtime has stopped');
      const { store } = await rejectOnAbort(() => this.#openOnce(), signal);
      const result = await act(store);
      this.#succeeded();
      return result;
    } catch (error) {
      // The caller gave up. A deadline is another matter: the store was too slow.
      if (signal.aborted && !isTimeout(error)) throw error;
      this.#failed(operation, error);
      const reason = error instanceof Error ? error.message : String(error);
      throw triggerStoreUnavailable({ store: this.#kind, operation, reason }, error);
    }
  }

  #openOnce(): Promise<OpenStore> {
    if (this.#opened) return this.#opened;
    const opening = this.#open();
    this.#opened = opening;
    opening.then(
      () => this.#observe({ kind: 'trigger-store.opened', store: this.#kind }),
      () => (this.#opened = undefined),
    );
    return opening;
  }

  #failed(operation: string, error: unknown): void {
    if (this.#awaySinceMs !== undefined) return;
    this.#awaySinceMs = this.#clock.monotonicMs();
    this.#observe({ kind: 'trigger-store.unavailable', store: this.#kind, operation, error });
  }

  #succeeded(): void {
    if (this.#awaySinceMs === undefined) return;
    const afterMs = this.#clock.monotonicMs() - this.#awaySinceMs;
    this.#awaySinceMs = undefined;
    this.#observe({ kind: 'trigger-store.available', store: this.#kind, afterMs });
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}
