import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { ServiceEpisode } from '../storage/service-episode.js';
import { isTransient } from '../storage/storage-failure.js';
import { blobTooLarge } from '../errors.js';
import type { Deliver, Delivery, Settlement } from '../trigger-source.js';
import { blobFailureOf, type BlobContainer, type BlobFailure } from './blob-container.js';
import { parseBlobMessage, type BlobMessage } from './blob-message.js';
import { toBlobModel } from './blob-model.js';
import { maxContentBytes, type ContentBudget } from './content-budget.js';
import type { BlobObservation } from './observations.js';
import type { BlobPattern } from './blob-path.js';
import { readContent, readNoContent, type BlobContent } from './read-content.js';

interface BlobRunOptions {
  readonly functionName: string;
  readonly setting: string;
  readonly container: BlobContainer;
  readonly pattern: BlobPattern;
  readonly deliver: Deliver;
  readonly budget: ContentBudget;
  /** Name of the setting of the account, for a worker that creates the client of a blob; undefined: the blob is read. */
  readonly clientOf: { readonly connection: string | undefined } | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<BlobObservation>;
  /** A found version was replaced: the scanner should look for the new one. */
  readonly onReplaced: () => void;
}

const retries = { firstMs: 200, maxMs: 30_000, factor: 2 };

type Content = BlobContent | { readonly kind: 'missing' | 'replaced' };

/** Turns messages about found versions into deliveries of blobs. */
export class BlobRuns {
  readonly #options: BlobRunOptions;
  readonly #episode: ServiceEpisode<BlobFailure>;

  constructor(options: BlobRunOptions) {
    this.#options = options;
    const { functionName, setting, container, clock, observe } = options;
    const place = { functionName, container: container.name };
    this.#episode = new ServiceEpisode(clock, {
      failed: (failure, error) => observe({ kind: 'blob.unavailable', ...place, setting, failure, error }),
      over: (afterMs) => observe({ kind: 'blob.available', ...place, afterMs }),
    });
  }

  /** Delivers the blob of a message. An unavailable blob service is waited for, so that an outage uses up no delivery. */
  readonly deliver: Deliver = async (delivery, lost) => {
    const message = parseBlobMessage(String(delivery.data));
    if (!message) return { kind: 'deadLetter', reason: 'it is not a message about a blob' };
    const { functionName, container, pattern, observe, onReplaced } = this.#options;
    const about = { functionName, container: container.name, blob: message.name };
    const captures = message.container === container.name ? pattern.match(message.name) : undefined;
    if (!captures) return this.#skip(message, 'not-matching');
    const content = await this.#fetch(message, lost);
    switch (content?.kind) {
      case undefined:
        return { kind: 'abandon' };
      case 'missing':
        return this.#skip(message, 'deleted');
      case 'replaced':
        onReplaced();
        return this.#skip(message, 'replaced');
      case 'too-large': {
        const error = blobTooLarge({
          blob: `${container.name}/${message.name}`,
          bytes: content.size,
          limit: maxContentBytes,
        });
        return { kind: 'deadLetter', reason: error.message };
      }
      case 'content':
    }
    if (delivery.deliveryCount > 1)
      observe({ kind: 'blob.redelivered', ...about, deliveryCount: delivery.deliveryCount });
    try {
      const { clientOf } = this.#options;
      const model = clientOf && toBlobModel(clientOf.connection, message.container, message.name);
      const found = toBlobDelivery(message, content, captures, delivery);
      return await this.#options.deliver(model ? { ...found, model } : found, lost);
    } finally {
      content.release();
    }
  };

  #skip({ name }: BlobMessage, why: 'deleted' | 'replaced' | 'not-matching'): Settlement {
    const { functionName, container, observe } = this.#options;
    observe({ kind: 'blob.skipped', functionName, container: container.name, blob: name, why });
    return { kind: 'complete' };
  }

  /** Resolves with undefined when the message is lost. */
  async #fetch(message: BlobMessage, lost: AbortSignal): Promise<Content | undefined> {
    const { clock } = this.#options;
    const backOff = new BackOff(retries, this.#options);
    while (!lost.aborted) {
      try {
        const { name, etag } = message;
        const request = { ...this.#options, name, etag, signal: lost };
        const content = this.#options.clientOf ? await readNoContent(request) : await readContent(request);
        this.#episode.succeeded();
        return content;
      } catch (error) {
        if (lost.aborted) return undefined;
        const failure = blobFailureOf(error);
        if (failure === 'blob-missing' || failure === 'container-missing') return { kind: 'missing' };
        if (failure === 'changed') return { kind: 'replaced' };
        this.#episode.failed(failure, error);
        // A refused request, as of an archived blob, counts as a failed delivery.
        if (!isTransient(failure) && failure !== 'denied') return undefined;
        await sleep(clock, backOff.nextMs(), lost).catch(() => undefined);
      }
    }
    return undefined;
  }
}

/** Captures take precedence over other metadata, as in the official host. */
function toBlobDelivery(
  { container, name, etag }: BlobMessage,
  { blob, bytes }: Extract<Content, { readonly kind: 'content' }>,
  captures: Readonly<Record<string, string>>,
  { deliveryCount }: Delivery,
): Delivery {
  return {
    data: bytes,
    metadata: {
      BlobTrigger: `${container}/${name}`,
      Uri: blob.uri,
      Properties: blob.properties,
      Metadata: blob.metadata,
      ...captures,
    },
    deliveryCount,
    id: `${container}/${name} ${etag}`,
    traceparent: undefined,
  };
}
