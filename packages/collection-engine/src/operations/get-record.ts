import type { CollectionModel } from '../model/collection-model.js';
import { parseRecordQuery } from '../parse/parse-query.js';
import { isUuid } from '../plan/filter-value.js';
import { getStatement, type GetRow } from '../plan/list-statement.js';
import { operandOf } from '../plan/operand.js';
import type { PlannedFilter } from '../plan/plan-filter.js';
import { planFields, planIncludes } from '../plan/plan-view.js';
import { Planning, type PlannedCollection } from '../plan/planning.js';
import type { RecordOperation, RecordRequest } from '../request/record-operation.js';
import type { RecordAnswer } from '../request/record-context.js';
import { operationNotOffered, recordAccessDenied, recordNotFound } from '../request/request-errors.js';
import { matchingEntityTag, recordAnswer } from '../respond/documents.js';
import { checkIncluded } from './list-records.js';
import { openSealed } from './open-sealed.js';
import { runQuery } from './run-query.js';
import { getShared, isPlainGet } from './shared-gets.js';

/** GET /api/{collection}/{id}: one record, by its id or by the value of a unique display field. */
export const getRecord: RecordOperation = async (context, model, request, dependencies) => {
  if (!model.api.get) throw operationNotOffered({ collection: model.name, operation: 'get' });
  if (isPlainGet(request, model)) return getPlain(context, model, request, dependencies);
  const query = parseRecordQuery(request.query, { takes: ['fields', 'include', 'deleted'] }, context.limits);
  const planning = new Planning(context, dependencies);
  const collection = await planning.collection(model);
  const id = request.id ?? '';
  const filter = byIdOrName(collection, id);
  const isAbsent = !filter || (request.parent !== undefined && !isUuid(request.parent.id));
  if (isAbsent) throw recordNotFound({ collection: model.name, id });
  if (request.parent) await planning.collection(request.parent.collection);
  const includes = await planIncludes(planning, collection, query.include);
  const shown = await planFields(planning, collection, includes, query.fields);
  const plan = { collection, filter, parent: request.parent, deleted: query.deleted, includes, shown };
  const [row] = await runQuery<GetRow>(dependencies, getStatement(planning, plan), 'id');
  if (!row) throw recordNotFound({ collection: model.name, id });
  checkIncluded(row.includedCount ?? 0, context.limits);
  const unchanged = includes.length === 0 ? unchangedAnswer(request, row) : undefined;
  if (unchanged) return unchanged;
  return recordAnswer(context.shape, {
    status: 200,
    record: openSealed(context, dependencies, { model, includes }, row.data),
    included:
      includes.length > 0 ? openSealed(context, dependencies, { model, includes }, row.included ?? '') : undefined,
    version: row.version,
  });
};

const getPlain: RecordOperation = async (context, model, request, dependencies) => {
  const { id = '' } = request;
  if (!context.access.mayRead(model)) throw recordAccessDenied({ collection: model.name, right: 'read' });
  const row = await getShared(context, model, id, dependencies);
  if (!row) throw recordNotFound({ collection: model.name, id });
  const unchanged = unchangedAnswer(request, row);
  if (unchanged) return unchanged;
  const record = openSealed(context, dependencies, { model }, row.data);
  return recordAnswer(context.shape, { status: 200, record, version: row.version });
};

/** Returns undefined if the client does not have this version (`If-None-Match`). */
function unchangedAnswer({ headers }: RecordRequest, { version }: GetRow): RecordAnswer | undefined {
  const etag = matchingEntityTag(headers['if-none-match'], `"${version}"`);
  return etag === undefined ? undefined : { status: 304, headers: { etag }, body: undefined };
}

/** Returns undefined if no record can have that name. */
function byIdOrName(collection: PlannedCollection, id: string): PlannedFilter | undefined {
  const name = isUuid(id) ? 'id' : uniqueDisplayField(collection.model);
  const operand = name === undefined || id.includes('\0') ? undefined : operandOf(collection, name);
  return operand && { kind: 'comparison', comparison: { operand, operator: 'eq', values: [id], parameter: 'id' } };
}

function uniqueDisplayField({ displayField, fields }: CollectionModel): string | undefined {
  const field = displayField === undefined ? undefined : fields.get(displayField);
  return field?.isUnique && field.traits.kind === 'text' ? field.name : undefined;
}
