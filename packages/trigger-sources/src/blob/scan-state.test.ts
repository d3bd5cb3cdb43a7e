import { describe, expect, it } from 'vitest';
import type { BlobPage, BlobVersion } from './blob-container.js';
import {
  newScanState,
  newVersions,
  scanFromJson,
  scanToJson,
  withPageDone,
  withQueuing,
  withReceipts,
  withSweep,
  type ScanState,
} from './scan-state.js';

const blob = (name: string, seconds: number, etag = '"1"'): BlobVersion => ({
  name,
  etag,
  modifiedAt: seconds * 1_000,
  type: 'BlockBlob',
});
const page = (seconds: number, blobs: readonly BlobVersion[], next?: string): BlobPage => ({
  blobs,
  next,
  servedAt: seconds * 1_000,
});
/** Finds and queues the new versions of a page. */
function scan(state: ScanState, scanned: BlobPage): { readonly state: ScanState; readonly found: readonly string[] } {
  const begun = withSweep(state, scanned);
  const fresh = newVersions(begun, scanned.blobs);
  const queued = withReceipts(withQueuing(begun, fresh));
  return { state: withPageDone(queued, scanned), found: fresh.map(({ name, etag }) => `${name} ${etag}`) };
}

describe('the scan state', () => {
  it('finds every version once, and another version of the same blob again', () => {
    const first = scan(newScanState('box'), page(100, [blob('a', 1), blob('b', 99)]));
    expect(first.found).toEqual(['a "1"', 'b "1"']);
    const second = scan(first.state, page(101, [blob('a', 1), blob('b', 101, '"2"')]));
    expect(second.found).toEqual(['b "2"']);
  });

  it('finds a blob that was written behind the back of a sweep, within the same second', () => {
    const first = scan(newScanState('box'), page(100, [blob('m', 100)]));
    expect(scan(first.state, page(100, [blob('a', 100), blob('m', 100)])).found).toEqual(['a "1"']);
  });

  it('finds a blob whose server has a clock that is behind', () => {
    const first = scan(newScanState('box'), page(100, []));
    expect(scan(first.state, page(101, [blob('late', 96)])).found).toEqual(['late "1"']);
  });

  it('drops receipts of versions that no sweep looks at again', () => {
    let state = newScanState('box');
    for (let second = 0; second < 1_000; second += 1) {
      state = scan(state, page(second, [blob(`b${second}`, second)])).state;
      expect(state.receipts.size).toBeLessThanOrEqual(8);
    }
    expect(state.since).toBe((999 - 5) * 1_000);
  });

  it('keeps few receipts in the first sweep through a large container, page by page', () => {
    const old = (at: number): BlobVersion[] => Array.from({ length: 5_000 }, (_, n) => blob(`b${at * 5_000 + n}`, 1));
    let state = newScanState('box');
    for (let at = 0; at < 20; at += 1) {
      const scanned = scan(state, page(100 + at, old(at), at < 19 ? `page ${at + 1}` : undefined));
      expect(scanned.found).toHaveLength(5_000);
      state = scanned.state;
      expect(state.receipts.size).toBe(0);
    }
    // What was modified since the beginning of the sweep is looked at once more.
    expect([state.since, state.sweep]).toEqual([95_000, undefined]);
  });

  it('keeps receipts of pages that a sweep has not reached', () => {
    const first = scan(newScanState('box'), page(100, [blob('z', 99)]));
    const again = scan(first.state, page(200, [blob('a', 1)], 'next'));
    expect(scan(again.state, page(200, [blob('z', 99)])).found).toEqual([]);
  });

  it('goes on where a sweep was interrupted, also in another process', () => {
    const first = scan(newScanState('box'), page(100, [blob('a', 1), blob('b', 100)], 'next'));
    const stored = JSON.parse(JSON.stringify(scanToJson(first.state))) as Parameters<typeof scanFromJson>[0];
    const state = scanFromJson(stored, 'box');
    expect(state).toEqual(first.state);
    expect(state.sweep).toEqual({ from: 95_000, marker: 'next' });
    const second = scan(state, page(200, [blob('c', 1)]));
    expect(second.found).toEqual(['c "1"']);
    // Not 195 000: the first page was listed at 100.
    expect(second.state.since).toBe(95_000);
  });

  it('remembers what was being queued, until it is', () => {
    const state = withQueuing(newScanState('box'), [blob('a', 1)]);
    const stored = scanFromJson(JSON.parse(JSON.stringify(scanToJson(state))) as object, 'box');
    expect(stored.queuing).toEqual([blob('a', 1)]);
    expect(withReceipts(stored)).toMatchObject({ queuing: [], receipts: expect.objectContaining({ size: 1 }) });
  });

  it('starts over for another place, and for a state that is not one', () => {
    const { state } = scan(newScanState('box'), page(100, [blob('a', 1)]));
    expect(scanFromJson(scanToJson(state), 'other')).toEqual(newScanState('other'));
    expect(scanFromJson(undefined, 'box')).toEqual(newScanState('box'));
  });
});
