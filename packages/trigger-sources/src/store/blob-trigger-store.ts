import type { BlockBlobClient, ContainerClient } from '@azure/storage-blob';
import { withApiVersion } from '../storage/api-version.js';
import type { StorageConnection } from '../storage/storage-connection.js';
import { inKeyOrder, type StoredState, type TriggerStore } from './trigger-store.js';

/** The container in which the official host has its locks and the status of its timers. */
const hostContainer = 'azure-webjobs-hosts';
/** Apart from the blobs of the official host, whose layout is another. */
const root = 'drover/';
/** Reads of one `list` at a time. */
const readsAtOnce = 16;

/**
 * State in one blob per key; the version is the ETag. The container is created at the first write. Requests are sent once:
 * callers retry.
 */
export class BlobTriggerStore implements TriggerStore {
  readonly #container: ContainerClient;

  constructor(container: ContainerClient) {
    this.#container = container;
  }

  async read(key: string, signal: AbortSignal): Promise<StoredState | undefined> {
    try {
      // One request for content and version: two could see different writes.
      const { etag, readableStreamBody } = await this.#blob(key).download(0, undefined, { abortSignal: signal });
      if (etag === undefined || !readableStreamBody) throw new Error(`the blob of ${key} has no content or no ETag`);
      const chunks: Buffer[] = [];
      for await (const chunk of readableStreamBody) chunks.push(Buffer.from(chunk));
      return { key, value: Buffer.concat(chunks).toString('utf8'), version: etag };
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw reasonOf(error, signal);
    }
  }

  async write(
    key: string,
    value: string,
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const body = Buffer.from(value, 'utf8');
    const conditions = expected === undefined ? { ifNoneMatch: '*' } : { ifMatch: expected };
    const upload = async (): Promise<string | undefined> => {
      const { etag } = await this.#blob(key).upload(body, body.length, { conditions, abortSignal: signal });
      return etag;
    };
    try {
      return await upload().catch(async (error: unknown) => {
        if (codeOf(error) !== 'ContainerNotFound') throw error;
        await this.#container.createIfNotExists({ abortSignal: signal });
        return upload();
      });
    } catch (error) {
      // 412: another version. 409: the blob exists. 404: it does not exist any more.
      if (isRefusal(error)) return undefined;
      throw reasonOf(error, signal);
    }
  }

  async list(prefix: string, signal: AbortSignal): Promise<readonly StoredState[]> {
    const keys: string[] = [];
    try {
      const blobs = this.#container.listBlobsFlat({ prefix: toBlobName(prefix), abortSignal: signal });
      for await (const { name } of blobs) keys.push(toKey(name));
    } catch (error) {
      if (statusOf(error) === 404) return [];
      throw reasonOf(error, signal);
    }
    const states: StoredState[] = [];
    for (let from = 0; from < keys.length; from += readsAtOnce) {
      const read = await Promise.all(keys.slice(from, from + readsAtOnce).map((key) => this.read(key, signal)));
      for (const state of read) if (state) states.push(state); // a missing one was removed meanwhile
    }
    return inKeyOrder(states);
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#blob(key).deleteIfExists({ abortSignal: signal });
    } catch (error) {
      if (statusOf(error) !== 404) throw reasonOf(error, signal);
    }
  }

  #blob(key: string): BlockBlobClient {
    return this.#container.getBlockBlobClient(toBlobName(key));
  }
}

/** Loads the SDK and connects. */
export async function openBlobStore(connection: StorageConnection): Promise<TriggerStore> {
  const { BlobServiceClient, newPipeline, StorageSharedKeyCredential } = await import('@azure/storage-blob');
  const credential =
    connection.kind === 'uri'
      ? connection.credential
      : new StorageSharedKeyCredential(connection.account, connection.key.reveal());
  const pipeline = newPipeline(credential, { retryOptions: { maxTries: 1 } });
  pipeline.factories.push(withApiVersion);
  const query = connection.kind === 'uri' && connection.query.reveal();
  const service = new BlobServiceClient(`${connection.endpoint}${query ? `?${query}` : ''}`, pipeline);
  return new BlobTriggerStore(service.getContainerClient(hostContainer));
}

/**
 * Escapes all but letters, digits, slashes, hyphens and underscores, one character at a time: the name of a blob must not end
 * with a dot, and the escaped form of a prefix is a prefix of the escaped form.
 */
function toBlobName(key: string): string {
  return (
    root +
    encodeURIComponent(key)
      .replaceAll('%2F', '/')
      .replaceAll(/[.!~*'()]/g, escapeOne)
  );
}

function escapeOne(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function toKey(blobName: string): string {
  return decodeURIComponent(blobName.slice(root.length));
}

function isRefusal(error: unknown): boolean {
  return statusOf(error) === 412 || codeOf(error) === 'BlobAlreadyExists' || codeOf(error) === 'BlobNotFound';
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The reason of the signal says why ("deadline passed"); the AbortError of the SDK does not. */
function reasonOf(error: unknown, signal: AbortSignal): unknown {
  return signal.aborted && error instanceof Error && error.name === 'AbortError' ? signal.reason : error;
}
