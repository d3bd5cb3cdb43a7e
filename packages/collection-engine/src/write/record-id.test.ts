import { systemRandomness } from '@drover/service-kit';
import { describe, expect, it } from 'vitest';
import { newRecordIds } from './record-id.js';

describe('newRecordIds', () => {
  it('makes UUIDs of version 7 that sort by time, and within a request by index', () => {
    const idOf = newRecordIds(1_800_000_000_000, systemRandomness);
    const ids = Array.from({ length: 10_000 }, (_, index) => idOf(index));
    expect(ids[0]).toMatch(/^01a3185c-5000-7000-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids.toSorted()).toEqual(ids);
    expect(idOf(5).slice(0, 18)).toBe(ids[5]?.slice(0, 18));
    expect(new Set(ids).size).toBe(ids.length);
    expect(newRecordIds(1_800_000_000_100, systemRandomness)(0) > (ids.at(-1) ?? '')).toBe(true);
  });
});
