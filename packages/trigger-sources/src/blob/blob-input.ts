import { hasCode } from '@drover/contracts';
import type { Clock, Randomness } from '@drover/service-kit';
import type { InputValue } from '../binding-extension.js';
import { blobTooLarge, blobUnavailable } from '../errors.js';
import { retrying } from '../storage/retrying.js';
import { isTransient } from '../storage/storage-failure.js';
import { blobFailureOf, blobReason, type BlobAccount } from './blob-container.js';
import type { BlobBindingOptions } from './blob-options.js';
import { maxContentBytes, type ContentBudget } from './content-budget.js';
import { readContent } from './read-content.js';

interface BlobInputRequest {
  readonly account: BlobAccount;
  readonly options: BlobBindingOptions;
  readonly budget: ContentBudget;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly signal: AbortSignal;
}

/** Opening and reading have limits of their own; this one is for the wait for memory. */
const timeoutMs = 3_600_000;

/** Reads a blob as the value of an input. Resolves with undefined if the blob or its container does not exist, as in Azure. */
export async function readBlobInput(request: BlobInputRequest): Promise<InputValue> {
  const { account, options, budget, clock, randomness, signal } = request;
  const { container, name } = options.path;
  const blob = `${container}/${name}`;
  const read = async (limited: AbortSignal): Promise<Uint8Array> => {
    const request = { container: account.container(container), name, etag: undefined, budget, clock, signal: limited };
    const content = await readContent(request);
    if (content.kind === 'too-large') throw blobTooLarge({ blob, bytes: content.size, limit: maxContentBytes });
    content.release();
    return content.bytes;
  };
  try {
    const mayRetry = (error: unknown): boolean => isTransient(blobFailureOf(error)) && !isTooLarge(error);
    const bytes = await retrying(read, { clock, randomness, signal, mayRetry, timeoutMs });
    return options.dataType === 'text' ? { string: Buffer.from(bytes).toString('utf8') } : { bytes };
  } catch (error) {
    signal.throwIfAborted();
    const failure = blobFailureOf(error);
    if (failure === 'blob-missing' || failure === 'container-missing') return undefined;
    if (isTooLarge(error)) throw error;
    throw blobUnavailable({ blob, operation: 'read', reason: blobReason(error, account.setting) }, error);
  }
}

function isTooLarge(error: unknown): boolean {
  return hasCode(error, 'BLOB_TOO_LARGE');
}
