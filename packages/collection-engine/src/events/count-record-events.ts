import { prepared, type Queryable } from '@drover/database';

const countStatement = prepared(
  'record-events-waiting',
  `select count(*) as events, min(at) as oldest from (
     select at from drover.record_events where collection_id = $1 and id > $2 order by id limit $3
   ) event`,
);

/** Counts the events of a collection after a position, up to `limit`; with the time of the first. */
export async function countRecordEvents(
  database: Queryable,
  range: { readonly collectionId: string; readonly after: number; readonly limit: number },
): Promise<{ readonly events: number; readonly oldest: Date | undefined }> {
  const values = [range.collectionId, range.after, range.limit];
  const [row] = await database.query<{ events: number; oldest: Date | null }>(countStatement, values);
  return { events: row?.events ?? 0, oldest: row?.oldest ?? undefined };
}
