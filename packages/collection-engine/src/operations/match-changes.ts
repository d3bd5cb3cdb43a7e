import type { RecordEvent } from '../events/record-event.js';
import { systemColumns, type CollectionModel } from '../model/collection-model.js';
import type { FilterNode } from '../parse/parse-filter.js';
import { filterSql, planFilter } from '../plan/plan-filter.js';
import { Planning } from '../plan/planning.js';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { identifier, join, parameter, sql, Sql } from '../sql/sql.js';
import { runQuery } from './run-query.js';

/**
 * Returns the positions of the changes whose record meets a filter before or after the change: a client also learns when a record stops
 * to meet it. PostgreSQL evaluates the filter, as for a list, over rows that it makes of the bodies of the changes; related records are
 * those of now. Throws INVALID_QUERY as a list does.
 */
export async function matchChanges(
  context: RecordContext,
  collection: CollectionModel,
  { filter, events }: { readonly filter: FilterNode; readonly events: readonly RecordEvent[] },
  dependencies: OperationDependencies,
): Promise<ReadonlySet<number>> {
  const planning = new Planning(context, dependencies);
  // Bodies have the values of both storage modes in the same form: the rows are those of a physical table.
  const planned = await planning.collection({ ...collection, storageMode: 'PHYSICAL_TABLE' });
  const condition = await planFilter(planning, planned, filter);
  const alias = planning.alias();
  const rows = parameter(`[${events.flatMap(bodiesOf).join(',')}]`);
  const statement = sql`select distinct ${alias}."#" as position from (${bodyRows(collection, rows, context)}) as ${alias} where ${filterSql(planning, planned, condition, alias)}`;
  const found = await runQuery<{ position: number }>(dependencies, statement, 'filter');
  return new Set(found.map(({ position }) => position));
}

/** The JSON of each body with its position; no field can have the name `#`. */
const bodiesOf = ({ id, before, after }: RecordEvent): string[] =>
  [before, after].flatMap((body) => (body === undefined || body === '{}' ? [] : [`{"#":${id},${body.slice(1)}`]));

/** Returns the query that makes rows with the columns of a physical table of a JSON array of bodies, which have names of fields. */
function bodyRows({ fields }: CollectionModel, bodies: Sql, { tenantId }: RecordContext): Sql {
  const stored = [...fields.values()].flatMap(({ name, column, traits }) =>
    traits.column === undefined ? [] : [{ name, column, type: traits.column }],
  );
  const system = Object.entries(systemColumns).map(([name, column]) => ({
    name,
    column,
    type: column.endsWith('_at') ? 'timestamptz' : 'text',
  }));
  const all = [
    { name: 'id', column: 'id', type: 'uuid' },
    { name: 'version', column: 'version', type: 'bigint' },
    ...system,
    ...stored,
  ];
  const types = all.map(({ name, type }) => sql`${identifier(name)} ${Sql.code(type)}`);
  const columns = all.map(({ name, column }) => sql`body.${identifier(name)} as ${identifier(column)}`);
  return sql`select body."#", ${parameter(tenantId)}::text as tenant_id, ${join(columns, sql`, `)}
    from jsonb_to_recordset(${bodies}::jsonb) as body("#" bigint, ${join(types, sql`, `)})`;
}
