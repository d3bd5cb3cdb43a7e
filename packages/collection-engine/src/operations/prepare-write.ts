import { isUtf8 } from 'node:buffer';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import { parseRecordQuery, type QueryGrammar, type RecordQuery } from '../parse/parse-query.js';
import { filterSql, planFilter } from '../plan/plan-filter.js';
import { Planning } from '../plan/planning.js';
import type { OperationDependencies, RecordRequest } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { limitExceeded, operationNotOffered, recordAccessDenied, recordNotFound } from '../request/request-errors.js';
import { codedTag } from '../respond/documents.js';
import { identifier, sql, type Sql } from '../sql/sql.js';
import { tableOf } from '../storage/field-expression.js';
import { parseClientJson } from '../values/number-literal.js';
import { isDeeperThan } from '../write/body-depth.js';
import type { RecordDocument } from '../write/input-rows.js';
import { isOwnRow } from '../write/next-rows.js';
import { readRecordInputs } from '../write/record-input.js';
import type { CheckedReference } from '../write/save-statement.js';
import { runSlots, slot } from '../write/statement-slots.js';
import { ifMatchInvalid, recordBodyInvalid, writeParameterInvalid } from '../write/write-errors.js';

/** Throws unless the collection offers the operation and the caller may write it, under the parent of the request if it has one. */
export function requireWrite(
  { access }: Pick<RecordContext, 'access'>,
  collection: CollectionModel,
  operation: 'create' | 'update' | 'delete',
  request: Pick<RecordRequest, 'parent'>,
): void {
  requireParent({ access }, request);
  if (!access.mayWrite(collection)) throw recordAccessDenied({ collection: collection.name, right: 'write' });
  if (!collection.api[operation]) throw operationNotOffered({ collection: collection.name, operation });
}

/** Most arrays and objects within each other; PostgreSQL reads JSON recursively. */
const maxBodyDepth = 100;

export function readBodyJson({ body }: Pick<RecordRequest, 'body'>): unknown {
  if (isDeeperThan(maxBodyDepth, body)) {
    const next = 'Send a flatter document.';
    throw limitExceeded({ limit: 'levels of nesting or more', value: maxBodyDepth + 1, allowed: maxBodyDepth, next });
  }
  // Decoding would replace what is not UTF-8, and the record would have another value than the client has sent.
  if (!isUtf8(body)) throw unreadableBody('The body is not UTF-8. Encode the JSON document in UTF-8.');
  try {
    return parseClientJson(body.toString('utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    const isEmpty = body.length === 0;
    throw unreadableBody(
      isEmpty ? 'The request has no body. Send a JSON document.' : `The body is not JSON: ${reason}.`,
      error,
    );
  }
}

const unreadableBody = (detail: string, cause?: unknown): Error =>
  recordBodyInvalid({ problems: [{ code: 'INVALID_PAYLOAD', detail, source: { pointer: '' } }] }, cause);

/** Reads the records of the body. Throws INVALID_PAYLOAD, or RECORD_LIMIT_EXCEEDED if there are more than `bulkRows`. */
export function readInputs(
  { limits }: Pick<RecordContext, 'limits'>,
  collection: CollectionModel,
  request: Pick<RecordRequest, 'body'>,
): ReturnType<typeof readRecordInputs> {
  return readRecordInputs(readBodyJson(request), collection, (records) => requireBulkLimit({ limits }, records));
}

export function requireBulkLimit({ limits }: Pick<RecordContext, 'limits'>, records: number): void {
  if (records <= limits.bulkRows) return;
  const next = 'Send them in several requests, or import a file.';
  throw limitExceeded({ limit: 'records (bulkRows)', value: records, allowed: limits.bulkRows, next });
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isRecordId = (id: string): boolean => uuid.test(id);

/** Throws if the request is about children of a record that cannot exist, or that the caller may not see. */
function requireParent({ access }: Pick<RecordContext, 'access'>, { parent }: Pick<RecordRequest, 'parent'>): void {
  if (!parent) return;
  const { collection, id } = parent;
  if (!access.mayRead(collection)) throw recordAccessDenied({ collection: collection.name, right: 'read' });
  if (!isRecordId(id)) throw recordNotFound({ collection: collection.name, id });
}

/** Throws if the parent of the request does not exist. For writes by filter that found no record: that may be the reason. */
export async function requireExistingParent(
  { tenantId }: Pick<RecordContext, 'tenantId'>,
  { parent }: Pick<RecordRequest, 'parent'>,
  { database, statements }: Pick<OperationDependencies, 'database' | 'statements'>,
): Promise<void> {
  if (!parent) return;
  const row = identifier('row');
  const found = sql`select 1 as found from ${tableOf(parent.collection)} as ${row}
    where ${isOwnRow(row)} and ${row}.deleted_at is null and ${row}.id = ${slot('parent')}::uuid`;
  const rows = await runSlots(statements, database, found, { tenant: tenantId, parent: parent.id });
  if (rows.length === 0) throw recordNotFound({ collection: parent.collection.name, id: parent.id });
}

/** Returns the id of the path. One that no record can have is not found. */
export function requireId({ id = '' }: Pick<RecordRequest, 'id'>, collection: CollectionModel): string {
  if (!isRecordId(id)) throw recordNotFound({ collection: collection.name, id });
  return id.toLowerCase();
}

/** Returns the version of `If-Match`; undefined if there is none, or for `*`. */
export function expectedVersion({ headers }: Pick<RecordRequest, 'headers'>): number | undefined {
  const value = headers['if-match']?.trim();
  if (value === undefined || value === '' || value === '*') return undefined;
  const version = /^(?:W\/)?"?([0-9]{1,15})"?$/.exec(value.replace(codedTag, '"'))?.[1];
  if (version === undefined) throw ifMatchInvalid({ value: value.slice(0, 100) });
  return Number(version);
}

/** Whether the client wants no record in the answer (`Prefer: return=minimal`). */
export const wantsMinimal = ({ headers }: Pick<RecordRequest, 'headers'>): boolean =>
  /(?:^|[,;\s])return=minimal(?:$|[,;\s])/i.test(headers['prefer'] ?? '');

/** Whether the answer shows no record: the client wants none, or may write records but not read them. */
export const isAnswerMinimal = (
  { access }: Pick<RecordContext, 'access'>,
  collection: CollectionModel,
  request: Pick<RecordRequest, 'headers'>,
): boolean => wantsMinimal(request) || !access.mayRead(collection);

/** Parses the query string of a write, which takes `filter` and parameters of its own at most. */
export function writeQuery(
  { query }: Pick<RecordRequest, 'query'>,
  grammar: Partial<QueryGrammar>,
  { limits }: Pick<RecordContext, 'limits'>,
): Pick<RecordQuery, 'filter' | 'own'> {
  return query === '' ? noQuery : parseRecordQuery(query, { takes: [], ...grammar }, limits);
}

const noQuery: Pick<RecordQuery, 'filter' | 'own'> = { filter: undefined, own: new Map() };

/** Selects the records of a write by filter, and how many it may change at most. Throws without a filter or `max_affected`. */
export async function selectByFilter(
  context: RecordContext,
  model: CollectionModel,
  request: RecordRequest,
  dependencies: OperationDependencies,
): Promise<{ readonly condition: (alias: Sql) => Sql; readonly maxAffected: number }> {
  const { filter, own } = writeQuery(request, { takes: ['filter'], own: ['max_affected'] }, context);
  const given = own.get('max_affected') ?? '';
  const maxAffected = /^\d{1,9}$/.test(given) ? Number(given) : 0;
  const { bulkRows } = context.limits;
  const problems: RecordProblem[] = [];
  if (maxAffected < 1 || maxAffected > bulkRows) {
    const detail = `A write by filter needs max_affected: how many records it may change at most, from 1 to ${bulkRows}.`;
    problems.push({ code: 'INVALID_PARAMETER', detail, source: { parameter: 'max_affected' } });
  }
  if (!filter) {
    const detail = `A write without an id needs a filter. For all records of "${model.name}" send filter[id][isnull]=false.`;
    problems.push({ code: 'INVALID_PARAMETER', detail, source: { parameter: 'filter' } });
  }
  if (!filter || problems.length > 0) throw writeParameterInvalid({ problems });
  const planning = new Planning(context, dependencies);
  const collection = await planning.collection(model);
  const planned = await planFilter(planning, collection, filter);
  return { condition: (alias) => filterSql(planning, collection, planned, alias), maxAffected };
}

/** Finds the collections that the documents refer to, and asks whether the caller may see them. */
export async function findReferences(
  { access, tenantId }: Pick<RecordContext, 'access' | 'tenantId'>,
  collection: CollectionModel,
  documents: readonly RecordDocument[],
  { find }: Pick<OperationDependencies, 'find'>,
): Promise<CheckedReference[]> {
  const set = [...collection.fields.values()].filter(
    ({ traits, column }) => traits.kind === 'reference' && documents.some(({ values }) => hasValue(values[column])),
  );
  return referenceTargets({ access, tenantId }, set, { find });
}

/** Finds the collections that fields refer to, and asks whether the caller may see them. */
export function referenceTargets(
  { access, tenantId }: Pick<RecordContext, 'access' | 'tenantId'>,
  fields: readonly FieldModel[],
  { find }: Pick<OperationDependencies, 'find'>,
): Promise<CheckedReference[]> {
  return Promise.all(
    fields.map(async (field) => {
      const target = await find(tenantId, field.definition.references?.collection ?? '');
      if (!access.mayRead(target) && !access.mayWrite(target)) {
        throw recordAccessDenied({ collection: target.name, right: 'read' });
      }
      return { field, target };
    }),
  );
}

const hasValue = (value: unknown): boolean => value !== null && value !== undefined;
