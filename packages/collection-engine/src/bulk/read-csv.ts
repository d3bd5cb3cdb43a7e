import { CsvError, parse, type CastingContext, type InfoRecord } from 'csv-parse';
import { importUnreadable } from './bulk-errors.js';
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
  const rows: ImportRow[] = [];
  let columns: readonly (CsvColumn | undefined)[] | undefined;
  const parser = parse({
    bom: true,
    delimiter,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxLineBytes,
    cast: (text: string, { quoting }: CastingContext) => (text === '' && !quoting ? noValue : text),
    // Collected here: as a stream of objects the parser would drop rows that it has read before one that it cannot read.
    on_record: (record: readonly Cell[], { lines }: InfoRecord) => {
      if (columns === undefined) columns = readHeader(record.map((cell) => toText(cell).trim()));
      else rows.push(toRow(record, columns, lines));
      return null;
    },
  });
  parser.on('error', () => undefined); // each call below rejects with it
  try {
    for await (const chunk of body) {
      await settled((done) => parser.write(chunk, done));
      if (rows.length > 0) yield rows.splice(0);
    }
    await settled((done) => parser.end(done));
  } catch (error) {
    if (rows.length > 0) yield rows.splice(0);
    throw error instanceof CsvError ? unreadable(error) : error;
  }
  if (rows.length > 0) yield rows.splice(0);
}

function settled(call: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error ? reject(error) : resolve()));
  });
}

function unreadable(error: CsvError): Error {
  const line: unknown = error['lines'];
  return importUnreadable({ line: typeof line === 'number' ? line : 0, reason: error.message }, error);
}

const noValue = Symbol('no value');
type Cell = string | typeof noValue;
const toText = (cell: Cell): string => (cell === noValue ? '' : cell);

function toRow(cells: readonly Cell[], columns: readonly (CsvColumn | undefined)[], line: number): ImportRow {
  const source = cells.map(toText);
  if (cells.length !== columns.length) {
    const unreadable = `The row has ${cells.length} cells, the header ${columns.length}. Quote cells that contain the delimiter.`;
    return { line, values: {}, unreadable, source };
  }
  const values: Record<string, unknown> = {};
  for (let at = 0; at < cells.length; at += 1) {
    const column = columns[at];
    const cell = cells[at];
    if (column !== undefined && cell !== undefined && cell !== noValue) values[column.name] = column.read(cell);
  }
  return { line, values, unreadable: undefined, source };
}
