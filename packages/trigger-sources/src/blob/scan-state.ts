import { createHash } from 'node:crypto';
import type { BlobPage, BlobVersion } from './blob-container.js';

/**
 * What all runtimes know about the versions of the blobs of one trigger. A version is handled if it was modified before `since`, or
 * has a receipt. All times are those of the service.
 */
export interface ScanState {
  /** The container and prefix. A trigger with another place starts over. */
  readonly place: string;
  /** Every version that was modified before this time has been found. */
  readonly since: number;
  /** The sweep through the container that is under way. */
  readonly sweep: Sweep | undefined;
  /** Versions that were queued and that `since` does not cover: their key and when they were modified. */
  readonly receipts: ReadonlyMap<string, number>;
  /** Versions that are being queued. After a crash they are queued again: it is not known which of them were. */
  readonly queuing: readonly BlobVersion[];
}

interface Sweep {
  /** What was modified before this time has been found by its end. */
  readonly from: number;
  /** The next page; undefined for the first. */
  readonly marker: string | undefined;
}

/**
 * A blob that is written while a sweep passes is listed by it or by the next one: the next one looks at everything that was modified
 * since this long before the sweep began. Covers the whole seconds of the service and differences between the clocks of its servers.
 */
const overlapMs = 5_000;

export function newScanState(place: string): ScanState {
  return { place, since: 0, sweep: undefined, receipts: new Map(), queuing: [] };
}

/** Identifies a version in 96 bits: receipts are written with every page. */
function receiptKey({ name, etag }: BlobVersion): string {
  return createHash('sha256').update(`${name}\n${etag}`).digest('base64url').slice(0, 16);
}

/** Returns the blobs whose version was not found yet. */
export function newVersions(state: ScanState, blobs: readonly BlobVersion[]): readonly BlobVersion[] {
  const { since, receipts } = state;
  return blobs.filter((blob) => blob.modifiedAt >= since && (receipts.size === 0 || !receipts.has(receiptKey(blob))));
}

export function withQueuing(state: ScanState, queuing: readonly BlobVersion[]): ScanState {
  return { ...state, queuing };
}

/** The versions of `queuing` are in the queue. */
export function withReceipts(state: ScanState): ScanState {
  if (state.queuing.length === 0) return state;
  const receipts = new Map(state.receipts);
  for (const blob of state.queuing) receipts.set(receiptKey(blob), blob.modifiedAt);
  return { ...state, receipts, queuing: [] };
}

/** Begins a sweep with its first page. */
export function withSweep(state: ScanState, page: BlobPage): ScanState {
  if (state.sweep) return state;
  return { ...state, sweep: { from: Math.max(state.since, page.servedAt - overlapMs), marker: undefined } };
}

/**
 * All versions of a page are queued. Receipts of its versions that are older than the sweep are dropped: the sweep does not come
 * back to this page, and the next one does not look at versions that old. Those of other pages are needed until the sweep has passed
 * them. So the number of receipts depends on the rate of writes, not on the number of blobs.
 */
export function withPageDone(state: ScanState, { blobs, next }: BlobPage): ScanState {
  const { sweep, since } = state;
  if (!sweep) return state;
  const isOver = next === undefined;
  const receipts = new Map(state.receipts);
  if (isOver) for (const [key, modifiedAt] of receipts) if (modifiedAt < sweep.from) receipts.delete(key);
  if (!isOver && receipts.size > 0)
    for (const blob of blobs)
      if (blob.modifiedAt >= since && blob.modifiedAt < sweep.from) receipts.delete(receiptKey(blob));
  if (isOver) return { ...state, receipts, since: sweep.from, sweep: undefined };
  return { ...state, receipts, sweep: { ...sweep, marker: next } };
}

/** Starts the sweep over: its marker is not valid any more. */
export function withoutSweep(state: ScanState): ScanState {
  return { ...state, sweep: undefined };
}

interface StoredScan {
  readonly place: string;
  readonly since: number;
  readonly sweep?: { readonly from: number; readonly marker?: string };
  readonly receipts: Readonly<Record<string, number>>;
  readonly queuing: readonly BlobVersion[];
}

export function scanToJson({ place, since, sweep, receipts, queuing }: ScanState): StoredScan {
  return {
    place,
    since,
    ...(sweep && { sweep: { from: sweep.from, ...(sweep.marker !== undefined && { marker: sweep.marker }) } }),
    receipts: Object.fromEntries(receipts),
    queuing,
  };
}

/** Reads what `scanToJson` wrote. A state of another place starts over. */
export function scanFromJson(stored: Partial<StoredScan> | undefined, place: string): ScanState {
  if (stored?.place !== place) return newScanState(place);
  const { since = 0, sweep, receipts = {}, queuing = [] } = stored;
  return {
    place,
    since,
    sweep: sweep && { from: sweep.from, marker: sweep.marker },
    receipts: new Map(Object.entries(receipts)),
    queuing,
  };
}
