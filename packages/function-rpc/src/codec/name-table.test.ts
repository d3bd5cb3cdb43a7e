import { describe, expect, it } from 'vitest';
import { longestName, NameTable } from './name-table.js';

const read = (table: NameTable, text: string): string => {
  const buffer = Buffer.from(`<${text}>`, 'utf8');
  return table.get(buffer, 1, buffer.length - 1);
};

describe('NameTable', () => {
  it('returns what the bytes say, the first time and every time', () => {
    const table = new NameTable();
    for (const name of ['a', 'Id', 'DequeueCount', 'é', '€uro', '😀', 'x'.repeat(longestName)]) {
      expect(read(table, name)).toBe(name);
      expect(read(table, name)).toBe(name);
    }
  });

  it('distinguishes names that share length, first, middle and last byte', () => {
    const table = new NameTable();
    const names = ['abcXdefg', 'aXcXdefg', 'abcXdXfg', 'aYcXdYfg'];
    for (let round = 0; round < 3; round++) {
      for (const name of names) expect(read(table, name)).toBe(name);
    }
  });

  it('stays correct with more names than slots', () => {
    const table = new NameTable();
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 5_000; index++) expect(read(table, `name-${index}`)).toBe(`name-${index}`);
    }
  });
});
