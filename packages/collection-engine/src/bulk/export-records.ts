import { stringify } from 'csv-stringify/sync';
import type { CollectionModel } from '../model/collection-model.js';
import type { RecordOperation } from '../request/record-operation.js';
import type { RecordAnswer } from '../request/record-context.js';
import { exactJson, exactText, parseExactly } from '../values/exact-json.js';
import { exportParameters, type ExportParameters } from './bulk-parameters.js';

/** Records per statement. A page is in memory once, as the client has read the one before it. */
const pageSize = 1_000;

type FlatRecord = Readonly<Record<string, unknown>>;

interface Page {
  readonly records: readonly FlatRecord[];
  /** Query of the next page; undefined after the last one. */
  readonly next: string | undefined;
}

/**
 * Returns the operation that exports all records of a list, page by page with cursors: no statement is open while the client reads,
 * so a slow client holds no connection and no snapshot. A record that exists all the time is exported once; one that is written
 * meanwhile may be exported as it was before or after.
 */
export function exportRecordsWith(list: RecordOperation): RecordOperation {
  return async (context, collection, request, dependencies) => {
    const parameters = exportParameters(request.query, request.headers['accept']);
    const read = async (query: string): Promise<Page> =>
      toPage(await list({ ...context, shape: 'flat' }, collection, { ...request, query }, dependencies));
    // The first page is read now: a filter that is wrong is an error of the request.
    const first = await read(firstQuery(parameters.list));
    const extension = parameters.format;
    return {
      status: 200,
      headers: {
        'content-type': extension === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson',
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(`${collection.name}.${extension}`)}`,
      },
      body: pages(first, read, request.signal, writerOf(parameters, collection)),
    };
  };
}

function firstQuery(list: URLSearchParams): string {
  const query = new URLSearchParams(list);
  query.set('page[size]', String(pageSize));
  query.set('count', 'none');
  return query.toString();
}

async function* pages(
  first: Page,
  read: (query: string) => Promise<Page>,
  signal: AbortSignal,
  write: WritePage,
): AsyncGenerator<string> {
  yield write(first.records, true);
  for (let { next } = first; next !== undefined; ) {
    signal.throwIfAborted();
    const page = await read(next);
    yield write(page.records, false);
    ({ next } = page);
  }
}

function toPage({ body }: RecordAnswer): Page {
  const { data, links } = parseExactly(typeof body === 'string' ? body : '{"data":[]}') as {
    readonly data: readonly FlatRecord[];
    readonly links?: { readonly next?: string | null };
  };
  const next = links?.next ?? undefined;
  return { records: data, next: next?.slice(next.indexOf('?') + 1) };
}

type WritePage = (records: readonly FlatRecord[], isFirst: boolean) => string;

function writerOf({ format, delimiter }: ExportParameters, collection: CollectionModel): WritePage {
  if (format === 'jsonl') return (records) => records.map((record) => `${exactJson(record)}\n`).join('');
  let columns: readonly string[] = ['id', ...collection.fields.keys()];
  const documents = new Set(
    [...collection.fields.values()].filter(({ type }) => type === 'JSON').map(({ name }) => name),
  );
  return (records, isFirst) => {
    // Every record has all attributes that are shown, also those without a value.
    if (isFirst && records[0] !== undefined) columns = Object.keys(records[0]);
    const rows = records.map((record) => columns.map((name) => toCell(record[name], documents.has(name))));
    return stringify(isFirst ? [[...columns], ...rows] : rows, { delimiter, quoted_match: /^$/ });
  };
}

/**
 * A value that is no text is written as JSON, as are texts of a JSON field: the text "5" is another value than the number. No value is an
 * empty cell, an empty text a quoted one.
 */
function toCell(value: unknown, isDocument: boolean): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' && !isDocument ? exactText(value) : exactJson(value);
}
