import type { Queryable } from '@drover/database';
import { conditionSql, type ListPlan } from '../plan/list-statement.js';
import { from, type Planning } from '../plan/planning.js';
import { sql } from '../sql/sql.js';

/** Returns how many records PostgreSQL expects to find, without reading them: `count=planned`. */
export async function estimateRows(database: Queryable, planning: Planning, plan: ListPlan): Promise<number> {
  const t = sql`t`;
  const { text, values } =
    sql`explain (format json) select 1 from ${from(plan.collection, t)} where ${conditionSql(planning, plan, t)}`.render();
  const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(text, values);
  return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}
