import type { CollectionModel } from '../model/collection-model.js';
import { constant, empty, sql, type Sql } from '../sql/sql.js';
import { slot } from './statement-slots.js';
import { storedRecordJson } from './stored-record-json.js';

/** The event of a write: over which rows, and which rows hold the records before and after. */
interface EventSource {
  /** An expression over `rows` and `before`. */
  readonly kind: Sql;
  readonly rows: Sql;
  /** Rows with the record before the write, by its id; undefined if there was none. */
  readonly before: Sql | undefined;
  /** Rows with the record after the write; undefined if it is deleted. */
  readonly after: Sql | undefined;
}

/**
 * Returns the part of a statement that writes the events of its records, or nothing for a collection without events and history.
 * It reads what the write has returned, so an event gets its id after the row of its record is locked.
 */
export function eventRows(collection: CollectionModel, { kind, rows, before, after }: EventSource): Sql[] {
  if (!collection.hasEvents && !collection.hasHistory) return [];
  const json = (alias: Sql | undefined): Sql => (alias ? storedRecordJson(collection, alias) : sql`null::jsonb`);
  const isSame = before && rows.render().text === before.render().text;
  const join = before && !isSame ? sql` left join ${before} on ${before}.id = ${rows}.id` : empty;
  const old = before ? sql`case when ${before}.id is not null then ${json(before)} end` : sql`null::jsonb`;
  return [
    sql`event as (insert into drover.record_events (tenant_id, collection_id, record_id, version, kind, before, after, actor)
      select ${rows}.tenant_id, ${constant(collection.id)}::uuid, ${rows}.id, ${rows}.version${after ? empty : sql` + ${deletion(collection)}`},
        ${kind}, ${old}, ${json(after)}, ${slot('actor')} from ${rows}${join})`,
  ];
}

/** A row that is removed has the version before the deletion; one that is marked as deleted has the version after it. */
const deletion = ({ isSoftDelete }: CollectionModel): Sql => (isSoftDelete ? sql`0` : sql`1`);
