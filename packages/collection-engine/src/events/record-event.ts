import { prepared, type Queryable } from '@drover/database';

export const recordEventKinds = ['created', 'updated', 'deleted', 'restored'] as const;
export type RecordEventKind = (typeof recordEventKinds)[number];

/** A change of one record, as it was written in the transaction of the change. */
export interface RecordEvent {
  /** Position among all record events. Events of one record have growing positions. */
  readonly id: number;
  readonly tenantId: string;
  readonly collectionId: string;
  readonly recordId: string;
  /** Of the record, after the change. */
  readonly version: number;
  readonly kind: RecordEventKind;
  /** JSON of the record before the change; undefined if it did not exist. */
  readonly before: string | undefined;
  /** JSON of the record after the change; undefined if it was deleted. */
  readonly after: string | undefined;
  /** Id of the API key. */
  readonly actor: string;
  readonly at: Date;
}

/** Channel on which a process that has written tells the others that there are new record events. */
export const recordEventsChannel = 'drover_record_events';
/** On this channel, tells that failed changes are to be delivered again. */
export const replayPayload = 'replay';

export interface RecordEventRow {
  readonly id: number;
  readonly tenant_id: string;
  readonly collection_id: string;
  readonly record_id: string;
  readonly version: number;
  readonly kind: RecordEventKind;
  readonly before: string | null;
  readonly after: string | null;
  readonly actor: string;
  readonly at: Date;
}

/** The columns of a `RecordEventRow`. */
export const recordEventColumns = `event.id, event.tenant_id, event.collection_id, event.record_id, event.version, event.kind,
  event.before::text as before, event.after::text as after, event.actor, event.at`;

export function toRecordEvent(row: RecordEventRow): RecordEvent {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    collectionId: row.collection_id,
    recordId: row.record_id,
    version: row.version,
    kind: row.kind,
    before: row.before ?? undefined,
    after: row.after ?? undefined,
    actor: row.actor,
    at: row.at,
  };
}

// One ordered index scan for each collection: `= any` over all of them would read and sort everything after the position.
const eventsOfStatement = prepared(
  'record-events-of',
  `select ${recordEventColumns}, state.trimmed
   from drover.record_event_state state
   left join lateral (
     select found.* from unnest($1::uuid[]) wanted (collection_id), lateral (
       select * from drover.record_events one
       where one.collection_id = wanted.collection_id and one.id > $2 and one.id <= $3
       order by one.id limit $4
     ) found
     order by found.id limit $4
   ) event on true
   order by event.id`,
);

export interface RecordEventPage {
  readonly events: readonly RecordEvent[];
  /** The last position that this page covers: events between the last one of the page and this one are of other collections. */
  readonly upTo: number;
  /** The last position at which retention has removed events of collections without history. */
  readonly trimmed: number;
}

/** Reads the events of some collections after a position, up to one that the tail has reached. */
export async function readRecordEvents(
  database: Queryable,
  range: {
    readonly collectionIds: readonly string[];
    readonly after: number;
    readonly upTo: number;
    readonly limit: number;
  },
): Promise<RecordEventPage> {
  const { collectionIds, after, upTo, limit } = range;
  const rows = await database.query<RecordEventRow & { readonly trimmed: number }>(eventsOfStatement, [
    collectionIds,
    after,
    upTo,
    limit,
  ]);
  // The state is joined without a condition: a row without an event says only how far retention is.
  const events = rows.filter((row) => (row.id as number | null) !== null).map(toRecordEvent);
  const isFull = events.length === limit;
  return { events, upTo: isFull ? (events.at(-1)?.id ?? upTo) : Math.max(after, upTo), trimmed: rows[0]?.trimmed ?? 0 };
}
