import type { Backlog } from '../trigger-source.js';
import { blobFailureOf, type BlobContainer, type BlobPage } from './blob-container.js';
import type { BlobPattern } from './blob-path.js';
import { newVersions, type ScanState } from './scan-state.js';

interface MeasureRequest {
  /** What was found and waits in the queue. */
  readonly queued: Backlog;
  readonly state: ScanState;
  /** When a runtime that scans ended its last sweep; undefined if none does. */
  readonly sweptAt: number | undefined;
  readonly container: BlobContainer;
  readonly pattern: BlobPattern;
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Blobs that one measurement lists. Beyond that, the count is a lower bound. */
const mostListed = 1_000;
/** A sweep as recent as this has found what there is: it is not listed again with every measurement. */
const recentMs = 20_000;

/** Counts versions that were found and wait, and those that no scan has found yet. */
export async function measureBlobs(request: MeasureRequest): Promise<Backlog> {
  const { queued, state, sweptAt, container, pattern, now, signal } = request;
  const isSwept = sweptAt !== undefined && !state.sweep && Math.abs(now - sweptAt) < recentMs;
  if (isSwept && state.queuing.length === 0) return queued;
  // A sweep that is under way does not come back to earlier pages: everything there was found.
  const page = await firstPage(container, { prefix: pattern.prefix, marker: state.sweep?.marker }, signal);
  const queuing = new Set(state.queuing.map(({ name }) => name));
  const unfound = newVersions(state, page.blobs).filter(({ name }) => pattern.match(name) && !queuing.has(name));
  const ages = unfound.map(({ modifiedAt }) => Math.max(0, now - modifiedAt));
  if (queued.oldestAgeMs !== undefined) ages.push(queued.oldestAgeMs);
  return {
    waiting: queued.waiting + unfound.length,
    ...(page.next !== undefined && { isAtLeast: true }),
    oldestAgeMs: ages.length === 0 ? undefined : ages.reduce((one, other) => Math.max(one, other), 0),
  };
}

async function firstPage(
  container: BlobContainer,
  request: { readonly prefix: string; readonly marker: string | undefined },
  signal: AbortSignal,
): Promise<BlobPage> {
  try {
    return await container.list({ ...request, count: mostListed }, signal);
  } catch (error) {
    if (blobFailureOf(error) === 'container-missing') return { blobs: [], next: undefined, servedAt: 0 };
    throw error;
  }
}
