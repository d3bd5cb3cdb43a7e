import type { CollectionModel } from '../model/collection-model.js';
import type { RecordRequest } from '../request/record-operation.js';
import type { RecordAnswer, RecordContext } from '../request/record-context.js';
import type { SavedRow } from '../write/save-statement.js';
import { wantsMinimal } from './prepare-write.js';

/** What an answer to a write shows, and of which request it is. */
interface SaveAnswerOptions {
  readonly collection: CollectionModel;
  readonly shape: RecordContext['shape'];
  readonly isArray: boolean;
  readonly isMinimal: boolean;
  readonly mayCreate: boolean;
}

/** Answers a save: 201 if all records are new, else 200; 201 or 204 without a body for `Prefer: return=minimal`. */
export function toSaveAnswer(rows: readonly SavedRow[], options: SaveAnswerOptions): RecordAnswer {
  const { isArray, isMinimal, mayCreate, shape } = options;
  const isCreated = mayCreate && rows.every(({ is_new }) => is_new === true);
  const headers: Record<string, string> = isArray ? {} : headersOfOne(rows[0], options, isCreated);
  if (isMinimal) {
    headers['preference-applied'] = 'return=minimal';
    return { status: isCreated ? 201 : 204, headers, body: undefined };
  }
  headers['content-type'] = contentTypes[shape];
  return { status: isCreated ? 201 : 200, headers, body: bodyOf(rows, options) };
}

export const contentTypes: Readonly<Record<RecordContext['shape'], string>> = {
  jsonapi: 'application/vnd.api+json',
  flat: 'application/json',
};

const etagOf = (version: number): string => `"${version}"`;

function headersOfOne(
  row: SavedRow | undefined,
  { collection }: SaveAnswerOptions,
  isCreated: boolean,
): Record<string, string> {
  if (!row) return {};
  return {
    etag: etagOf(row.version ?? 0),
    ...(isCreated && { location: `/api/${encodeURIComponent(collection.name)}/${row.id ?? ''}` }),
  };
}

function bodyOf(rows: readonly SavedRow[], { isArray, shape }: SaveAnswerOptions): string {
  const records = rows.toSorted((a, b) => a.index - b.index).map(({ record }) => record ?? 'null');
  if (isArray) return `{"data":[${records.join(',')}]}`;
  return shape === 'flat' ? (records[0] ?? 'null') : `{"data":${records[0] ?? 'null'}}`;
}

/** Answers a write by filter with the number of records that it has changed. */
export function affectedAnswer(affected: number, request: Pick<RecordRequest, 'headers'>): RecordAnswer {
  if (wantsMinimal(request))
    return { status: 204, headers: { 'preference-applied': 'return=minimal' }, body: undefined };
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ meta: { affected } }),
  };
}
