import type { CollectionModel } from '../model/collection-model.js';
import { constant, sql, type Sql } from '../sql/sql.js';
import { slot } from './statement-slots.js';
import { storedRecordJson } from './stored-record-json.js';

/** Whether writes of the collection have an event. */
const isRecorded = ({ hasEvents, hasHistory }: CollectionModel): boolean => hasEvents || hasHistory;

/** Returns the JSON that the event of a write holds of the row `alias`, as an expression; null without a row or without events. */
export const eventJson = (collection: CollectionModel, alias: Sql | undefined): Sql =>
  alias && isRecorded(collection) ? storedRecordJson(collection, alias) : sql`null::jsonb`;

/**
 * Returns the part of a statement that writes the events of its records, or nothing for a collection without events and history. It
 * reads the query `written`, which has `id`, `version`, `before` and `after` of every record, made by the RETURNING clause of the write:
 * an event gets its id after the row of its record is locked, and no join has to find the row again.
 */
export function eventRows(collection: CollectionModel, kind: Sql): Sql[] {
  if (!isRecorded(collection)) return [];
  return [
    sql`event as (insert into drover.record_events (tenant_id, collection_id, record_id, version, kind, before, after, actor)
      select ${slot('tenant')}, ${constant(collection.id)}::uuid, written.id, written.version, ${kind}, written.before, written.after, ${slot('actor')}
      from written)`,
  ];
}
