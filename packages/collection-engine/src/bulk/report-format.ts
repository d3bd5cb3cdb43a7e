import { stringify } from 'csv-stringify/sync';
import type { RecordProblem } from '../model/record-problem.js';
import { errorsNote, lineNote, type ImportRow } from './import-rows.js';

export interface ImportProgress {
  /** Line up to which every row is imported or rejected. */
  readonly line: number;
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  readonly rejected: number;
}

/** How the answer of an import tells what happens. */
export interface ReportFormat {
  readonly mediaType: string;
  progress(progress: ImportProgress): string;
  rejected(row: ImportRow, problems: readonly RecordProblem[]): string;
  done(progress: ImportProgress): string;
  /** Undefined if the format has no place for a failure: the answer breaks off, and the client sees that it is not complete. */
  failed(error: { readonly code: string; readonly detail: string }, progress: ImportProgress): string | undefined;
}

/** One JSON object per line: `progress` after every batch, `rejected` per rejected row, at the end `done` or `failed`. */
export const progressReport: ReportFormat = {
  mediaType: 'application/x-ndjson',
  progress: (progress) => toLine({ kind: 'progress', ...progress }),
  rejected: (row, problems) => toLine({ kind: 'rejected', line: row.line, errors: problems, source: row.source }),
  done: (progress) => toLine({ kind: 'done', ...progress }),
  failed: (error, progress) => toLine({ kind: 'failed', ...progress, error }),
};

/**
 * The file of rejected rows in the format of the import, with the line and the errors of each row. An import ignores these two, so
 * the file can be corrected and sent again.
 */
export const rejectedLinesReport: ReportFormat = {
  mediaType: 'application/x-ndjson',
  progress: () => '',
  rejected: (row, problems) =>
    toLine({
      ...(row.unreadable === undefined ? row.values : { source: row.source }),
      [lineNote]: row.line,
      [errorsNote]: problems,
    }),
  done: () => '',
  failed: () => undefined,
};

export function rejectedCsvReport(delimiter: string, header: () => readonly string[]): ReportFormat {
  let isStarted = false;
  return {
    mediaType: 'text/csv; charset=utf-8',
    progress: () => '',
    rejected(row, problems) {
      const names = header();
      // A file that was corrected before already has the columns of notes.
      const withoutNotes = (cells: readonly string[]): string[] => cells.filter((_, at) => !isNote(names[at]));
      const cells = withoutNotes(typeof row.source === 'string' ? [row.source] : row.source);
      const rows = [[...cells, String(row.line), problems.map(({ detail }) => detail).join(' ')]];
      if (!isStarted) rows.unshift([...withoutNotes(names), lineNote, errorsNote]);
      isStarted = true;
      return stringify(rows, { delimiter });
    },
    done: () => '',
    failed: () => undefined,
  };
}

const toLine = (value: object): string => `${JSON.stringify(value)}\n`;

const isNote = (name: string | undefined): boolean => name === lineNote || name === errorsNote;
