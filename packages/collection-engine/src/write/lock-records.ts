import type { CollectionModel } from '../model/collection-model.js';
import { anyId, identifier, join, parameter, sql, type Sql } from '../sql/sql.js';
import { tableOf } from '../storage/field-expression.js';
import { isOwnRow } from './next-rows.js';

/** Records that a transaction is going to change. */
interface RecordsToLock {
  readonly collection: CollectionModel;
  readonly ids: readonly string[];
  readonly isRemoval: boolean;
}

const row = identifier('row');

/**
 * Returns the statement that locks records of several collections before the first of them is changed: in the order of their tables and
 * ids. Transactions that change the same records in another order then wait for each other instead of a deadlock. Undefined if the
 * order of the changes cannot differ.
 */
export function lockRecordsStatement(records: readonly RecordsToLock[]): Sql | undefined {
  if (records.length < 2) return undefined;
  const byTable = new Map<string, RecordsToLock>();
  for (const { collection, ids, isRemoval } of records) {
    const known = byTable.get(collection.table);
    byTable.set(collection.table, {
      collection,
      ids: [...(known?.ids ?? []), ...ids],
      isRemoval: isRemoval || known?.isRemoval === true,
    });
  }
  const inOrder = [...byTable.keys()].toSorted().flatMap((table) => byTable.get(table) ?? []);
  const name = (at: number): Sql => identifier(`lock ${at}`);
  const locks = inOrder.map(({ collection, ids, isRemoval }, at) => {
    const strength = isRemoval ? sql`for update` : sql`for no key update`;
    return sql`${name(at)} as materialized (select ${row}.id from ${tableOf(collection)} as ${row}
      where ${isOwnRow(row)} and ${row}.id = ${anyId(parameter(ids))} order by ${row}.id ${strength})`;
  });
  // PostgreSQL evaluates the columns of a row from left to right, and a common table expression with its first use.
  const counts = inOrder.map((_, at) => sql`(select count(*) from ${name(at)})`);
  return sql`with ${join(locks, sql`, `)} select ${join(counts, sql` + `)} as locked`;
}
