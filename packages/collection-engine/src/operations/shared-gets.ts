import type { CollectionModel } from '../model/collection-model.js';
import { isUuid } from '../plan/filter-value.js';
import type { GetRow } from '../plan/list-statement.js';
import { visibleRows } from '../plan/planning.js';
import type { OperationDependencies, RecordRequest } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { recordJson } from '../respond/record-json.js';
import { SharedReads } from '../sql/shared-reads.js';
import { anyId, parameter, sql, type Sql } from '../sql/sql.js';
import { tableOf } from '../storage/field-expression.js';

/** Reads of a model by shape of the answer. */
const reads = new WeakMap<CollectionModel, Map<RecordContext['shape'], SharedReads<GetRow>>>();

/**
 * Whether a request asks for a whole record by its id, as nearly all do: its statement depends on the definition alone. Computed fields
 * may read other collections, whose definitions change by themselves.
 */
export function isPlainGet({ query, parent, id = '' }: RecordRequest, { fields }: CollectionModel): boolean {
  if ((query !== '' && query !== 'shape=flat') || parent !== undefined || !isUuid(id)) return false;
  for (const { traits } of fields.values()) if (traits.column === undefined) return false;
  return true;
}

/** Reads a record together with those that other requests ask for at the same moment. The caller has checked the access. */
export function getShared(
  { shape }: RecordContext,
  model: CollectionModel,
  id: string,
  dependencies: OperationDependencies,
): Promise<GetRow | undefined> {
  const ofModel = reads.get(model) ?? new Map<RecordContext['shape'], SharedReads<GetRow>>();
  const known = ofModel.get(shape) ?? readsOf(shape, model, dependencies);
  ofModel.set(shape, known);
  reads.set(model, ofModel);
  const found = known.get(id.toLowerCase());
  return dependencies.database.waitFor?.(found) ?? found;
}

function readsOf(
  shape: RecordContext['shape'],
  model: CollectionModel,
  { database, statements }: OperationDependencies,
): SharedReads<GetRow> {
  const shared = database.shared ?? database; // it serves requests that come later, too
  const t = sql`t`;
  const statementFor = (isId: Sql) =>
    sql`select t.id, ${recordJson(model, t, { shape, computed: new Map() })} as data, t.version from ${tableOf(model)} as t
      where ${visibleRows(t, model)} and t.id = ${isId}`.render();
  const one = statementFor(sql`${parameter(undefined)}::uuid`);
  const many = statementFor(anyId(parameter(undefined)));
  return new SharedReads<GetRow>(async (ids) => {
    const [first] = ids;
    const { text, values } = ids.length === 1 ? one : many;
    const rows = await statements.runText<GetRow & { readonly id: string }>(shared, text, [
      ...values.slice(0, -1),
      ids.length === 1 ? first : ids,
    ]);
    return new Map(rows.map((row) => [row.id, row]));
  });
}
