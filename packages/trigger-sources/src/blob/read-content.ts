import type { Clock } from '@drover/service-kit';
import { requestTimeoutMs } from '../requests.js';
import type { BlobContainer, OpenBlob } from './blob-container.js';
import { isSmall, maxContentBytes, type ContentBudget } from './content-budget.js';

interface ContentRequest {
  readonly container: BlobContainer;
  readonly name: string;
  /** The version; undefined: the current one. */
  readonly etag: string | undefined;
  readonly budget: ContentBudget;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type BlobContent =
  /** The caller must call `release` when it does not need the bytes any more. */
  | { readonly kind: 'content'; readonly blob: OpenBlob; readonly bytes: Uint8Array; readonly release: () => void }
  | { readonly kind: 'too-large'; readonly size: number };

/** Slowest transfer that is waited for. */
const bytesPerMs = 100;

/** Reads a whole blob: small ones in one request, large ones in a second one when the budget has room for them. */
export async function readContent(request: ContentRequest): Promise<BlobContent> {
  const first = await withBlob(request, async (blob): Promise<BlobContent | number> => {
    if (blob.size > maxContentBytes) return { kind: 'too-large', size: blob.size };
    if (!isSmall(blob.size)) return blob.size;
    return { kind: 'content', blob, bytes: await blob.read(), release: () => undefined };
  });
  if (typeof first !== 'number') return first;
  const release = await request.budget.acquire(first, request.signal);
  try {
    return await withBlob(request, async (blob) => {
      // Another version may be larger than the budget was asked for.
      if (blob.size > first) throw new Error(`the blob grew from ${first} to ${blob.size} bytes while it was read`);
      return { kind: 'content', blob, bytes: await blob.read(), release };
    });
  } catch (error) {
    release();
    throw error;
  }
}

/** Reads the properties of a blob alone, whatever its size. */
export function readNoContent(request: ContentRequest): Promise<BlobContent> {
  return withBlob(request, async (blob) => ({
    kind: 'content',
    blob,
    bytes: new Uint8Array(0),
    release: () => undefined,
  }));
}

/** Opens a blob for `use`. Opening and reading have a time limit each; that of reading depends on the size. */
async function withBlob<T>(
  { container, name, etag, clock, signal }: ContentRequest,
  use: (blob: OpenBlob) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const ending = new AbortController();
  const expire = (): void => ending.abort(new DOMException('the deadline passed', 'TimeoutError'));
  const follow = (): void => ending.abort(signal.reason);
  signal.addEventListener('abort', follow, { once: true });
  let cancel = clock.after(requestTimeoutMs, expire);
  try {
    const blob = await container.open(name, etag, ending.signal);
    cancel();
    cancel = clock.after(requestTimeoutMs + blob.size / bytesPerMs, expire);
    try {
      return await use(blob);
    } finally {
      blob.cancel();
    }
  } finally {
    cancel();
    signal.removeEventListener('abort', follow);
  }
}
