/** Formats of imports and exports: comma-separated values with a header row, or one JSON object per line. */
export type BulkFormat = 'csv' | 'jsonl';

/** A row as it was read. A row that cannot be read has a reason in place of values. */
export interface ImportRow {
  /** Line of the file on which it ends, from 1. */
  readonly line: number;
  /** Characters that it takes in the file. */
  readonly size: number;
  readonly values: Readonly<Record<string, unknown>>;
  readonly unreadable: string | undefined;
  /** As it came, for the file of rejected rows: cells of a CSV row, or the text of a JSON line. */
  readonly source: readonly string[] | string;
}

/** A row or line longer than this ends the import: without its end the next one cannot be found. */
export const maxLineBytes = 1_024 * 1_024;

/** What the file of rejected rows adds to a row; an import ignores them, so that a corrected file can be sent as it is. */
export const lineNote = '_line';
export const errorsNote = '_errors';
