import { expect, it } from 'vitest';
import { recycleReason } from './recycle-reason.js';

const mib = 1024 * 1024;
const limits = { maxRequests: 100, maxMemoryMb: 64 };

it('keeps a worker below its limits', () => {
  expect(recycleReason({ served: 99, rssBytes: 64 * mib }, limits)).toBeUndefined();
});

it('replaces a worker that has served its number of requests', () => {
  expect(recycleReason({ served: 100, rssBytes: undefined }, limits)).toBe('requests');
});

it('replaces a worker that has grown too large', () => {
  expect(recycleReason({ served: 1, rssBytes: 64 * mib + 1 }, limits)).toBe('memory');
});

it('does not ask about memory that has no limit or was not measured', () => {
  expect(recycleReason({ served: 1, rssBytes: 900 * mib }, { ...limits, maxMemoryMb: undefined })).toBeUndefined();
  expect(recycleReason({ served: 1, rssBytes: undefined }, limits)).toBeUndefined();
});
