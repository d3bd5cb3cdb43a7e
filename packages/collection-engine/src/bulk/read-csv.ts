import { StringDecoder } from 'node:string_decoder';
import { importUnreadable } from './bulk-errors.js';
import { CsvRecords, CsvSyntaxError, noValue, type CsvCell, type CsvRecord } from './csv-records.js';
import { maxLineBytes, type ImportRow } from './import-rows.js';

/** Makes the value of a cell; undefined if the record gets none. */
export type ReadCell = (text: string) => unknown;

/** Decides about the columns of a header; `undefined` for a column that is ignored. Throws for a header that cannot be imported. */
export type ReadHeader = (names: readonly string[]) => readonly (CsvColumn | undefined)[];

export interface CsvColumn {
  readonly name: string;
  readonly read: ReadCell;
}

/**
 * Reads comma-separated values whose first row is the header, and yields the rows of each chunk together. An empty cell is no value; a
 * quoted empty cell is an empty text.
 */
export async function* readCsv(
  body: AsyncIterable<Uint8Array>,
  delimiter: string,
  readHeader: ReadHeader,
): AsyncGenerator<readonly ImportRow[]> {
  const decoder = new StringDecoder('utf8');
  const reader = new CsvRecords(delimiter);
  let columns: readonly (CsvColumn | undefined)[] | undefined;
  const rowsOf = function* (text: string, isEnd: boolean): Generator<readonly ImportRow[]> {
    const records: CsvRecord[] = [];
    let failure: unknown;
    try {
      reader.read(text, isEnd, records);
    } catch (error) {
      failure = error;
    }
    if (columns === undefined && records.length > 0)
      columns = readHeader((records.shift()?.cells ?? []).map((cell) => toText(cell).trim()));
    const known = columns ?? [];
    if (records.length > 0) yield records.map((record) => toRow(record, known));
    if (failure instanceof CsvSyntaxError)
      throw importUnreadable({ line: failure.line, reason: failure.message }, failure);
    if (failure !== undefined) throw failure;
  };
  for await (const chunk of body) {
    yield* rowsOf(decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)), false);
    if (reader.pending > maxLineBytes)
      throw importUnreadable({ line: reader.line, reason: `a row is longer than ${maxLineBytes} bytes` });
  }
  yield* rowsOf(decoder.end(), true);
}

const toText = (cell: CsvCell): string => (cell === noValue ? '' : cell);

/** A row whose cells become texts only if it is rejected. */
class CsvRow implements ImportRow {
  readonly line: number;
  readonly size: number;
  readonly values: ImportRow['values'];
  readonly unreadable: string | undefined;
  readonly #cells: readonly CsvCell[];

  constructor({ cells, line, size }: CsvRecord, values: ImportRow['values'], unreadable?: string) {
    this.line = line;
    this.size = size;
    this.values = values;
    this.unreadable = unreadable;
    this.#cells = cells;
  }

  get source(): readonly string[] {
    return this.#cells.map(toText);
  }
}

function toRow(record: CsvRecord, columns: readonly (CsvColumn | undefined)[]): ImportRow {
  const { cells } = record;
  if (cells.length !== columns.length) {
    const unreadable = `The row has ${cells.length} cells, the header ${columns.length}. Quote cells that contain the delimiter.`;
    return new CsvRow(record, {}, unreadable);
  }
  const values: Record<string, unknown> = {};
  for (let at = 0; at < cells.length; at += 1) {
    const column = columns[at];
    const cell = cells[at];
    if (column !== undefined && cell !== undefined && cell !== noValue) values[column.name] = column.read(cell);
  }
  return new CsvRow(record, values);
}
