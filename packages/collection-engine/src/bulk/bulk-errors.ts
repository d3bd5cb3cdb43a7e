import { defineError } from '@drover/contracts';

export const importMediaUnsupported = defineError<{ mediaType: string | undefined }>('IMPORT_MEDIA_UNSUPPORTED', {
  fault: 'caller',
  retryable: false,
  status: 415,
  message: (d) =>
    `An import cannot read ${d.mediaType === undefined ? 'a body without Content-Type' : `the media type "${d.mediaType}"`}. Send text/csv or application/x-ndjson.`,
  help: 'Send `Content-Type: text/csv` or `application/x-ndjson`.',
});

export const importColumnUnknown = defineError<{ column: string; collection: string; similar: string | undefined }>(
  'IMPORT_COLUMN_UNKNOWN',
  {
    fault: 'caller',
    retryable: false,
    status: 400,
    message: (d) =>
      `The header names the column "${d.column}", but the collection "${d.collection}" has no such field.${d.similar === undefined ? '' : ` Did you mean "${d.similar}"?`} Rename or remove the column; nothing was imported.`,
    help: 'The header row of a CSV file names fields of the collection. Rename or remove the column.',
  },
);

export const importUnreadable = defineError<{ line: number; reason: string }>('IMPORT_UNREADABLE', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) =>
    `The import ends at line ${d.line}: ${d.reason}. Rows before it are imported; correct the line and send the rest.`,
  help: 'A line cannot be told from the next one: a quote is not closed, or a line is longer than 1 MiB. Correct it and send the rest of the file.',
});

/** The errors of the catalogue that imports throw. */
export const bulkErrors = [importMediaUnsupported, importColumnUnknown, importUnreadable];
