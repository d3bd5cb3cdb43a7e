import { systemRandomness } from '@drover/service-kit';
import { describe, expect, it } from 'vitest';
import { newRecordId } from './record-id.js';

describe('newRecordId', () => {
  it('makes UUIDs of version 7 that sort by time, and within a request by index', () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => newRecordId(1_800_000_000_000, index, systemRandomness));
    expect(ids[0]).toMatch(/^01a3185c-5000-7000-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(newRecordId(1_800_000_000_100, 0, systemRandomness) > (ids.at(-1) ?? '')).toBe(true);
  });
});
