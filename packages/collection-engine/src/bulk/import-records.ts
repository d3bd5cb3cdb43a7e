import type { RecordOperation } from '../request/record-operation.js';
import { AnswerQueue } from './answer-queue.js';
import { importMediaUnsupported } from './bulk-errors.js';
import { importParameters, type ImportParameters } from './bulk-parameters.js';
import { csvColumns } from './csv-columns.js';
import type { BulkFormat, ImportRow } from './import-rows.js';
import { ImportRun } from './import-run.js';
import { readCsv } from './read-csv.js';
import { readJsonLines } from './read-json-lines.js';
import { referenceKeys } from './reference-keys.js';
import { rowWriter } from './row-writer.js';
import type { ImportTarget } from './rows-by-keys.js';
import { progressReport, rejectedCsvReport, rejectedLinesReport, type ReportFormat } from './report-format.js';

/**
 * POST /api/{collection}/import: creates or upserts rows of any number, read while they arrive and written in batches. Each batch is
 * one transaction; rows that are refused are reported and the others go on.
 */
export const importRecords: RecordOperation = async (context, collection, request, dependencies) => {
  const mediaType = request.headers['content-type'];
  const format = formatOf(mediaType);
  if (format === undefined) throw importMediaUnsupported({ mediaType });
  const parameters = importParameters(request.query);
  const target = { collection, keys: await referenceKeys(context, collection, dependencies) };
  const write = rowWriter(context, target, { ...request, query: parameters.write }, dependencies);
  const { rows, report } = open(format, request.upload ?? oneChunk(request.body), target, parameters);
  // A header that cannot be imported is an error of the request: afterwards the answer has begun.
  const started = await startReading(rows);
  const answer = new AnswerQueue();
  const run = new ImportRun({ write, format: report, answer });
  return {
    status: 200,
    headers: { 'content-type': report.mediaType },
    body: answer.read((stopped) => run.run(started, AbortSignal.any([request.signal, stopped]))),
  };
};

const mediaTypes: Readonly<Record<string, BulkFormat>> = {
  'text/csv': 'csv',
  'application/csv': 'csv',
  'application/x-ndjson': 'jsonl',
  'application/ndjson': 'jsonl',
  'application/jsonl': 'jsonl',
  'application/json-lines': 'jsonl',
};

function formatOf(mediaType = ''): BulkFormat | undefined {
  return mediaTypes[mediaType.split(';')[0]?.trim().toLowerCase() ?? ''];
}

async function* oneChunk(body: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(body);
}

function open(
  format: BulkFormat,
  body: AsyncIterable<Uint8Array>,
  { collection, keys }: ImportTarget,
  { delimiter, report }: ImportParameters,
): { readonly rows: AsyncGenerator<readonly ImportRow[]>; readonly report: ReportFormat } {
  if (format === 'jsonl')
    return { rows: readJsonLines(body), report: report === 'rejected' ? rejectedLinesReport : progressReport };
  let header: readonly string[] = [];
  const rows = readCsv(body, delimiter, (names) => {
    header = names;
    return csvColumns(collection, names, keys);
  });
  return { rows, report: report === 'rejected' ? rejectedCsvReport(delimiter, () => header) : progressReport };
}

/** Reads the first rows now. Rejects with what is wrong with the header; what is wrong with a later line is left to the import. */
async function startReading(rows: AsyncGenerator<readonly ImportRow[]>): Promise<AsyncGenerator<readonly ImportRow[]>> {
  const first = await rows.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* rows;
  })();
}
