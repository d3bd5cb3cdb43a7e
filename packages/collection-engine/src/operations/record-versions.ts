import type { CollectionModel } from '../model/collection-model.js';
import { parseRecordQuery } from '../parse/parse-query.js';
import type { OperationDependencies, RecordOperation, RecordRequest } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { operationNotOffered, recordAccessDenied, recordNotFound } from '../request/request-errors.js';
import type { SlotValues } from '../write/statement-slots.js';
import { runSlots } from '../write/statement-slots.js';
import { versionsQuery, type VersionRow } from '../write/version-rows.js';
import { historyOff, versionUnknown, writeParameterInvalid } from '../write/write-errors.js';
import { requireId } from './prepare-write.js';
import { contentTypes } from './save-answer.js';

const defaultPageSize = 25;

/** `GET /api/{collection}/{id}/versions`: the versions of a record, newest first; `before` continues after the last one of a page. */
export const listRecordVersions: RecordOperation = async (context, collection, request, dependencies) => {
  requireHistory(context, collection);
  const id = requireId(request, collection);
  const { own } = parseRecordQuery(request.query, { takes: [], own: ['before', 'limit'] }, context.limits);
  const size = readNumber(own, 'limit', context.limits.pageSize) ?? defaultPageSize;
  const before = readNumber(own, 'before', Number.MAX_SAFE_INTEGER);
  const filling = { id, version: before ?? null, limit: size + 1 };
  const rows = await readVersions(context, collection, 'list', filling, dependencies);
  if (rows.length === 0 && before === undefined) throw recordNotFound({ collection: collection.name, id });
  const page = rows.slice(0, size);
  const hasMore = rows.length > size;
  const last = page.at(-1)?.version;
  const next = hasMore ? `${request.path}?limit=${size}&before=${last}` : undefined;
  const data = page.map((row) => versionJson(row, context, dependencies)).join(',');
  return {
    status: 200,
    headers: { 'content-type': contentTypes[context.shape] },
    body: `{"data":[${data}],"links":${JSON.stringify({ next })},"meta":${JSON.stringify({ hasMore })}}`,
  };
};

/** `GET /api/{collection}/{id}/versions/{version}`: one version of a record. */
export const getRecordVersion: RecordOperation = async (context, collection, request, dependencies) => {
  requireHistory(context, collection);
  const id = requireId(request, collection);
  const version = versionOfPath(request, id);
  const [row] = await readVersions(context, collection, 'one', { id, at: String(version) }, dependencies);
  if (!row) throw versionUnknown({ id, version });
  const json = versionJson(row, context, dependencies);
  return {
    status: 200,
    headers: { 'content-type': contentTypes[context.shape] },
    body: context.shape === 'flat' ? json : `{"data":${json}}`,
  };
};

function requireHistory({ access }: RecordContext, collection: CollectionModel): void {
  const { name } = collection;
  if (!access.mayRead(collection)) throw recordAccessDenied({ collection: name, right: 'read' });
  if (!collection.api.get) throw operationNotOffered({ collection: name, operation: 'get' });
  if (!collection.hasHistory) throw historyOff({ collection: name });
}

/** Returns the version in the path. One that no record can have is unknown. */
export function versionOfPath({ version = '' }: Pick<RecordRequest, 'version'>, id: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(version)) throw versionUnknown({ id, version: Number(version) || 0 });
  return Number(version);
}

function readNumber(own: ReadonlyMap<string, string>, name: string, most: number): number | undefined {
  const text = own.get(name);
  if (text === undefined) return undefined;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= most) return number;
  const detail = `The parameter ${name} is "${text.slice(0, 50)}". Send a number from 1 to ${most}.`;
  throw writeParameterInvalid({ problems: [{ code: 'INVALID_PARAMETER', detail, source: { parameter: name } }] });
}

function readVersions(
  { tenantId }: RecordContext,
  collection: CollectionModel,
  which: 'one' | 'list',
  filling: Partial<SlotValues>,
  { database, statements }: OperationDependencies,
): Promise<VersionRow[]> {
  const statement = versionsQuery(collection, which);
  return runSlots<VersionRow>(statements, database, statement, { tenant: tenantId, ...filling });
}

function versionJson(
  { version, kind, actor, at, record }: VersionRow,
  { shape, tenantId }: RecordContext,
  { cipher }: OperationDependencies,
): string {
  const opened = record === null ? 'null' : cipher.openAll(tenantId, record);
  const head = JSON.stringify({ version, kind, actor, at });
  const attributes = `${head.slice(0, -1)},"record":${opened}}`;
  return shape === 'flat' ? attributes : `{"type":"versions","id":"${version}","attributes":${attributes}}`;
}
