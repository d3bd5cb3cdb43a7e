import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { blobUnavailable } from '../errors.js';
import type { SourceWakeups } from '../source-wakeups.js';
import { requestTimeoutMs } from '../requests.js';
import { retrying } from '../storage/retrying.js';
import { isTransient } from '../storage/storage-failure.js';
import type { OutputMessage, OutputTarget } from '../trigger-source.js';
import {
  blobFailureOf,
  blobReason,
  WrittenBlob,
  type BlobAccount,
  type BlobContainer,
  type BlobVersion,
} from './blob-container.js';
import type { BlobBindingOptions } from './blob-options.js';
import type { BlobObservation } from './observations.js';

interface BlobOutputOptions {
  readonly functionName: string;
  readonly account: BlobAccount;
  readonly options: BlobBindingOptions;
  /** Notifies the listeners of this process. */
  readonly wakeups: SourceWakeups;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<BlobObservation>;
}

/** Slowest transfer that is waited for. */
const bytesPerMs = 100;

/** Writes one blob, and creates its container if it is missing. A repeated write replaces the blob with the same content. */
export class BlobOutput implements OutputTarget {
  readonly #options: BlobOutputOptions;

  constructor(options: BlobOutputOptions) {
    this.#options = options;
  }

  async send(messages: readonly OutputMessage[], signal: AbortSignal): Promise<void> {
    const { functionName, account, options, wakeups, observe } = this.#options;
    const { container: containerName, name } = options.path;
    const container = account.container(containerName);
    // An output is one blob; with several values the last one would remain, so only that is written.
    const body = messages.at(-1)?.body;
    if (body === undefined) return;
    try {
      const version = await this.#upload(container, body, signal);
      wakeups.wake(container.address, new WrittenBlob(version));
      const bytes = Buffer.byteLength(body);
      observe({ kind: 'blob.written', functionName, container: containerName, blob: name, bytes });
    } catch (error) {
      wakeups.wake(container.address); // it may have been written
      throw error;
    }
  }

  async #upload(container: BlobContainer, body: string | Uint8Array, signal: AbortSignal): Promise<BlobVersion> {
    const { functionName, account, options, clock, randomness, observe } = this.#options;
    const { contentType, path } = options;
    const upload = async (limited: AbortSignal): Promise<BlobVersion> => {
      try {
        return await container.upload(path.name, body, contentType, limited);
      } catch (error) {
        if (blobFailureOf(error) !== 'container-missing') throw error;
        await container.create(limited);
        observe({ kind: 'blob.container-created', functionName, container: container.name });
        return await container.upload(path.name, body, contentType, limited);
      }
    };
    try {
      const mayRetry = (error: unknown): boolean => isTransient(blobFailureOf(error));
      const timeoutMs = requestTimeoutMs + Buffer.byteLength(body) / bytesPerMs;
      return await retrying(upload, { clock, randomness, signal, mayRetry, timeoutMs });
    } catch (error) {
      signal.throwIfAborted();
      const reason = blobReason(error, account.setting);
      throw blobUnavailable({ blob: `${path.container}/${path.name}`, operation: 'write', reason }, error);
    }
  }
}
