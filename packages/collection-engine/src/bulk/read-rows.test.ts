import { describe, expect, it } from 'vitest';
import type { CollectionDefinition } from '@drover/contracts';
import { compileCollection } from '../model/compile-collection.js';
import { NumberLiteral } from '../values/number-literal.js';
import { csvColumns } from './csv-columns.js';
import type { ImportRow } from './import-rows.js';
import { readCsv } from './read-csv.js';
import { readJsonLines } from './read-json-lines.js';

const definition: CollectionDefinition = {
  name: 'orders',
  fields: [
    { name: 'number', type: 'STRING' },
    { name: 'total', type: 'CURRENCY' },
    { name: 'count', type: 'LONG' },
    { name: 'paid', type: 'BOOLEAN' },
    { name: 'tags', type: 'MULTI_PICKLIST', values: ['a', 'b'] },
    { name: 'serial', type: 'AUTO_NUMBER' },
  ],
};
const stored = { id: 'c', tenantId: 't', version: 1, table: 'orders', columns: {} };
const orders = compileCollection({ ...stored, definition });

/** The text in chunks of every size that could cut a row, a quote or a character. */
async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield Promise.resolve(bytes.subarray(at, at + size));
}

async function allRows(blocks: AsyncIterable<readonly ImportRow[]>): Promise<ImportRow[]> {
  const rows: ImportRow[] = [];
  for await (const block of blocks) rows.push(...block);
  return rows;
}

const csv = (text: string, size = 7, collection = orders): Promise<ImportRow[]> =>
  allRows(readCsv(chunksOf(text, size), ',', (header) => csvColumns(collection, header, new Map())));

describe('a CSV file', () => {
  it('gives values of the kinds of its fields, wherever its chunks are cut', async () => {
    const text =
      '\uFEFFnumber,total,count,paid,tags\r\n"A ""1""\nä",12.50,9007199254740993,TRUE,"[""a"",""b""]"\r\n,,,,\r\n"",x,1.5,maybe,[\r\n';
    for (const size of [1, 2, 3, 5, 8, 1_000]) {
      const rows = await csv(text, size);
      expect(rows.map(({ values }) => values)).toEqual([
        { number: 'A "1"\nä', total: 12.5, count: new NumberLiteral('9007199254740993'), paid: true, tags: ['a', 'b'] },
        {},
        { number: '', total: 'x', count: 1.5, paid: 'maybe', tags: '[' },
      ]);
      expect(rows.map(({ line }) => line)).toEqual([3, 4, 5]);
    }
  });

  it('can be an export: it has ids, and columns that no client sets are ignored', async () => {
    const text = 'id,number,serial,version,createdAt,_line,_errors\n7,A,S-1,3,2026-01-01T00:00:00Z,4,bad\n';
    expect((await csv(text))[0]?.values).toEqual({ id: '7', number: 'A' });
  });

  it('is refused with a similar name if it has a column that is no field', async () => {
    await expect(csv('numbr,total\n1,2\n')).rejects.toMatchObject({
      code: 'IMPORT_COLUMN_UNKNOWN',
      details: { column: 'numbr', similar: 'number' },
    });
  });

  it('keeps a row with too many cells for the file of rejected rows', async () => {
    const [row] = await csv('number,total\nA,1,2\n');
    expect(row).toMatchObject({ line: 2, source: ['A', '1', '2'] });
    expect(row?.unreadable).toContain('3 cells, the header 2');
  });

  it('gives the rows before a quote that is not closed, and then the line', async () => {
    const rows: ImportRow[] = [];
    const reading = (async () => {
      for await (const block of readCsv(chunksOf('number\nA\n"B\n', 4), ',', (names) =>
        csvColumns(orders, names, new Map()),
      ))
        rows.push(...block);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'IMPORT_UNREADABLE' });
    expect(rows.map(({ values }) => values['number'])).toEqual(['A']);
  });
});

describe('JSON lines', () => {
  it('are read wherever chunks are cut; empty lines count and are skipped', async () => {
    const text = '\uFEFF{"number":"ä"}\r\n\n{"number":"b","total":1}\n[1]\nnonsense\n{"number":"last"}';
    for (const size of [1, 2, 3, 1_000]) {
      const rows = await allRows(readJsonLines(chunksOf(text, size)));
      expect(rows.map(({ line, values, unreadable }) => [line, values, unreadable !== undefined])).toEqual([
        [1, { number: 'ä' }, false],
        [3, { number: 'b', total: 1 }, false],
        [4, {}, true],
        [5, {}, true],
        [6, { number: 'last' }, false],
      ]);
    }
  });

  it('end at a line without an end', async () => {
    const endless = (async function* () {
      for (;;) yield await Promise.resolve(Buffer.alloc(65_536, 'a'));
    })();
    await expect(allRows(readJsonLines(endless))).rejects.toMatchObject({ code: 'IMPORT_UNREADABLE' });
  });
});
