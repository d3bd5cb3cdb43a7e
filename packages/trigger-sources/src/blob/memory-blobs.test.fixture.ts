import type { Clock } from '@drover/service-kit';
import { serviceError } from '../testing/memory-queue-account.js';
import type { BlobAccount, BlobContainer, BlobVersion } from './blob-container.js';

interface Stored {
  readonly version: BlobVersion;
  readonly body: Buffer;
}

export type BlobOperation = 'list' | 'open' | 'upload' | 'create';

/** One container in memory with the listing and version rules of the service, on any clock: times are whole seconds. */
export class MemoryBlobs implements BlobAccount {
  readonly setting = 'Shop';
  readonly endpoint = 'memory';
  readonly #clock: Clock;
  readonly #blobs = new Map<string, Stored>();
  #versions = 0;
  exists = true;
  /** Size of all blobs, whatever is in them. */
  size: number | undefined;
  /** Most blobs of a page, whatever is asked for. */
  pageSize = 5_000;
  /** Called before each operation. May throw an error of the service, delay it, or never resolve. */
  intercept: (operation: BlobOperation, name: string) => void | Promise<void> = () => undefined;
  /** Pages that were listed, by the name of their first blob. */
  readonly listed: string[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(name: string, body: string | Uint8Array = name): BlobVersion {
    this.#versions += 1;
    const modifiedAt = Math.floor(this.#clock.now() / 1_000) * 1_000;
    const version: BlobVersion = { name, etag: `"${this.#versions}"`, modifiedAt, type: 'BlockBlob' };
    this.#blobs.set(name, { version, body: Buffer.from(body) });
    return version;
  }

  delete(name: string): void {
    this.#blobs.delete(name);
  }

  get current(): readonly BlobVersion[] {
    return [...this.#blobs.values()].map(({ version }) => version);
  }

  container(name: string): BlobContainer {
    const call = async <T>(operation: BlobOperation, blob: string, signal: AbortSignal, act: () => T): Promise<T> => {
      signal.throwIfAborted();
      await orAborted(this.intercept(operation, blob), signal);
      if (!this.exists && operation !== 'create') throw serviceError('ContainerNotFound', 404);
      return act();
    };
    return {
      name,
      address: `memory/${name}`,
      list: ({ prefix, marker = '', count }, signal) =>
        call('list', marker, signal, () => {
          const names = [...this.#blobs.keys()].filter((one) => one.startsWith(prefix) && one > marker).toSorted();
          const page = names.slice(0, Math.min(count, this.pageSize));
          this.listed.push(page[0] ?? '');
          return {
            blobs: page.flatMap((one) => this.#blobs.get(one) ?? []).map(({ version }) => version),
            next: page.length < names.length ? page.at(-1) : undefined,
            servedAt: Math.floor(this.#clock.now() / 1_000) * 1_000,
          };
        }),
      open: (blob, etag, signal) =>
        call('open', blob, signal, () => {
          const stored = this.#blobs.get(blob);
          if (!stored) throw serviceError('BlobNotFound', 404);
          if (etag !== undefined && stored.version.etag !== etag) throw serviceError('ConditionNotMet', 412);
          const { body } = stored;
          return {
            size: this.size ?? body.byteLength,
            properties: {},
            metadata: {},
            uri: `memory/${name}/${blob}`,
            read: () => call('open', blob, signal, () => body),
            cancel: () => undefined,
          };
        }),
      upload: (blob, body, _, signal) => call('upload', blob, signal, () => this.put(blob, body)),
      create: (signal) =>
        call('create', '', signal, () => {
          this.exists = true;
        }),
    };
  }
}

/** Rejects as soon as the signal aborts, as a connection would. */
async function orAborted(work: void | Promise<void>, signal: AbortSignal): Promise<void> {
  if (!work) return;
  let rejectAborted: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    rejectAborted = () => reject(signal.reason);
  });
  signal.addEventListener('abort', rejectAborted, { once: true });
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', rejectAborted);
  }
}
