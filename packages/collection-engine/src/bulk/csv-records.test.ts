import fc from 'fast-check';
import { stringify } from 'csv-stringify/sync';
import { describe, expect, it } from 'vitest';
import { CsvRecords, CsvSyntaxError, noValue, type CsvRecord } from './csv-records.js';

/** Reads a text cut at the given places. */
function readIn(pieces: readonly string[], delimiter = ','): CsvRecord[] {
  const reader = new CsvRecords(delimiter);
  const records: CsvRecord[] = [];
  for (const piece of pieces) reader.read(piece, false, records);
  reader.read('', true, records);
  return records;
}

const cut = (text: string, size: number): string[] => text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];

describe('records of comma-separated values', () => {
  it('are what was written, wherever the text is cut', () => {
    const cell = fc.oneof(fc.constant(null), fc.string(), fc.stringMatching(/^[a",;\r\n ]{0,6}$/));
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 6 });
    fc.assert(
      fc.property(
        rows,
        fc.constantFrom(',', ';', '\t'),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        (all, delimiter, size, isLast) => {
          const options = { delimiter, quoted_match: /^$|[\r\n]/, record_delimiter: '\r\n' };
          const text = stringify(all, options);
          const records = readIn(cut(isLast ? text.replace(/\r\n$/, '') : text, size), delimiter);
          expect(records.map(({ cells }) => cells.map((each) => (each === noValue ? null : each)))).toEqual(all);
        },
      ),
    );
  });

  it('know the line on which they end', () => {
    expect(readIn(['a,b\n"x\ny",1\n\n2,3']).map(({ line }) => line)).toEqual([1, 3, 5]);
  });

  it('end with the line of a quote that is not closed, or that text follows', () => {
    expect(() => readIn(['a\nb\n"c\n'])).toThrow(CsvSyntaxError);
    expect(() => readIn(['a\n"b"c,d\n'])).toThrow('text follows a closing quote');
  });
});
