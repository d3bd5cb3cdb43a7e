import { describe, expect, it } from 'vitest';
import { isDeeperThan } from './body-depth.js';

const isDeep = (text: string): boolean => isDeeperThan(3, Buffer.from(text));

describe('the depth of a JSON text', () => {
  it('counts arrays and objects within each other', () => {
    expect(isDeep('[{"a":[]},[[1]],{"b":{}}]')).toBe(false);
    expect(isDeep('[{"a":[{}]}]')).toBe(true);
    expect(isDeep('['.repeat(1_000_000))).toBe(true);
  });

  it('skips what stands in texts, with their escapes', () => {
    expect(isDeep(String.raw`["[[[[","\"[[[[","\\",{"[[[[":"{{{{"}]`)).toBe(false);
    expect(isDeep(String.raw`["\\",[[["x"]]]]`)).toBe(true);
    expect(isDeep('"[[[[')).toBe(false);
  });
});
