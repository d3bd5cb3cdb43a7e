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

export const importInterrupted = defineError<{ line: number; uncertain: number; reason: string }>(
  'IMPORT_INTERRUPTED',
  {
    fault: 'platform',
    retryable: true,
    status: 503,
    message: (d) =>
      `The import stopped after line ${d.line}: ${d.reason} Rows up to line ${d.line} are imported; those up to line ${d.uncertain} may be. Look for one of these, and send the rest with the header row; with on_conflict no row is written twice.`,
    help: 'PostgreSQL was away for longer than a minute in the middle of an import. Send the rows that are not imported; an import with `on_conflict` can be sent again as a whole.',
  },
);

/** The errors of the catalogue that imports throw. */
export const bulkErrors = [importMediaUnsupported, importColumnUnknown, importUnreadable, importInterrupted];
