import { describe, expect, it } from 'vitest';
import { newMessageId } from './message-id.js';

describe('message ids', () => {
  it('are random UUIDs of version 4', () => {
    const ids = Array.from({ length: 5_000 }, newMessageId);
    expect(new Set(ids).size).toBe(5_000);
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(ids.filter((id) => !uuid.test(id))).toEqual([]);
    // Each free digit takes each of its values.
    const seen = (place: number): number => new Set(ids.map((id) => id[place])).size;
    expect([0, 1, 9, 15, 19, 20, 35].map(seen)).toEqual([16, 16, 16, 16, 4, 16, 16]);
  });
});
