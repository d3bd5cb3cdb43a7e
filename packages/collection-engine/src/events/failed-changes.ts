import { prepared, type Queryable } from '@drover/database';
import { recordEventsChannel, replayPayload, type RecordEventKind } from './record-event.js';

/** The function of a collectionTrigger. */
export interface TriggeredFunction {
  readonly tenantId: string;
  readonly application: string;
  readonly functionName: string;
  readonly collectionId: string;
}

/** A change as a function gets it. */
export interface DeliveredChange {
  readonly position: number;
  readonly kind: RecordEventKind;
  readonly recordId: string;
  readonly json: string;
}

/** A change that a function gave up after too many deliveries. */
export interface FailedChange {
  readonly id: string;
  readonly application: string;
  readonly functionName: string;
  readonly collection: string;
  readonly recordId: string;
  readonly position: number;
  readonly kind: RecordEventKind;
  /** Why the last delivery failed. */
  readonly reason: string;
  /** Of all attempts. */
  readonly deliveries: number;
  readonly failedAt: Date;
  /** Whether it waits to be delivered again, or is being delivered. */
  readonly isReplaying: boolean;
  readonly json: string;
}

/** Which failed changes of a tenant are meant; what is undefined does not limit. */
export interface FailedChangeSelection {
  readonly ids?: readonly string[] | undefined;
  /** Names of collections that the caller may use. */
  readonly collections?: readonly string[] | undefined;
  readonly application?: string | undefined;
  readonly functionName?: string | undefined;
}

interface FailedChangeRow {
  readonly id: number;
  readonly application: string;
  readonly function_name: string;
  readonly collection: string;
  readonly record_id: string;
  readonly position: number;
  readonly kind: RecordEventKind;
  readonly reason: string;
  readonly deliveries: number;
  readonly failed_at: Date;
  readonly replaying: boolean;
  readonly change: string;
}

// A collection that was removed in the meantime has no row, and its changes are not stored.
const storeStatement = prepared(
  'failed-changes-store',
  `insert into drover.failed_changes
     (tenant_id, application, function_name, collection_id, record_id, position, kind, change, reason, deliveries)
   select $1, $2, $3, collection.id, given.record_id, given.position, given.kind, given.change, $9, $10
   from drover.collections collection,
     unnest($5::uuid[], $6::bigint[], $7::text[], $8::text[]) as given (record_id, position, kind, change)
   where collection.id = $4 and collection.tenant_id = $1
   on conflict (tenant_id, application, function_name, collection_id, position) do update
   set reason = excluded.reason, deliveries = failed_changes.deliveries + excluded.deliveries, failed_at = now(),
     replaying = false`,
);
const replayingStatement = prepared(
  'failed-changes-replaying',
  `select record_id, position, kind, change from drover.failed_changes
   where tenant_id = $1 and application = $2 and function_name = $3 and collection_id = $4 and replaying
   order by position limit $5`,
);
const replayedStatement = prepared(
  'failed-changes-replayed',
  `delete from drover.failed_changes
   where tenant_id = $1 and application = $2 and function_name = $3 and collection_id = $4 and position = $5`,
);
const selected = `failed.tenant_id = $1 and collection.id = failed.collection_id
     and ($2::bigint[] is null or failed.id = any ($2)) and ($3::text[] is null or collection.name = any ($3))
     and ($4::text is null or failed.application = $4) and ($5::text is null or lower(failed.function_name) = lower($5))`;
const listStatement = prepared(
  'failed-changes-list',
  `select failed.id, failed.application, failed.function_name, collection.name as collection, failed.record_id,
     failed.position, failed.kind, failed.reason, failed.deliveries, failed.failed_at, failed.replaying, failed.change
   from drover.failed_changes failed, drover.collections collection
   where ${selected} and failed.id < $6 order by failed.id desc limit $7`,
);
const replayStatement = prepared(
  'failed-changes-replay',
  `with chosen as (
     update drover.failed_changes failed set replaying = true from drover.collections collection
     where ${selected} returning failed.id
   ), told as (
     select pg_notify('${recordEventsChannel}', '${replayPayload}') where exists (select from chosen)
   )
   select (select count(*) from chosen) as changed, (select count(*) from told) as told`,
);
const dropStatement = prepared(
  'failed-changes-drop',
  `with chosen as (
     delete from drover.failed_changes failed using drover.collections collection where ${selected} returning failed.id
   )
   select count(*) as changed from chosen`,
);

/** The changes that functions gave up. The runtime stores and replays them, the control plane shows them and asks for replays. */
export class FailedChanges {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Stores changes, or that a replay of them failed. Storing a change again counts its deliveries together. */
  async store(
    of: TriggeredFunction,
    changes: readonly DeliveredChange[],
    { reason, deliveries }: { readonly reason: string; readonly deliveries: number },
  ): Promise<void> {
    await this.#database.query(storeStatement, [
      ...keysOf(of),
      changes.map(({ recordId }) => recordId),
      changes.map(({ position }) => position),
      changes.map(({ kind }) => kind),
      changes.map(({ json }) => json),
      reason.slice(0, 2_000),
      deliveries,
    ]);
  }

  /** Returns the changes that a function is to run for again, the oldest first. */
  async replaying(of: TriggeredFunction, limit: number): Promise<DeliveredChange[]> {
    const rows = await this.#database.query<FailedChangeRow>(replayingStatement, [...keysOf(of), limit]);
    return rows.map(({ record_id: recordId, position, kind, change: json }) => ({ position, kind, recordId, json }));
  }

  /** Removes a change that its function has run for. */
  async replayed(of: TriggeredFunction, position: number): Promise<void> {
    await this.#database.query(replayedStatement, [...keysOf(of), position]);
  }

  /** Returns failed changes before an id, the newest first. */
  async list(
    tenantId: string,
    selection: FailedChangeSelection,
    page: { readonly before: number; readonly limit: number },
  ): Promise<FailedChange[]> {
    const values = [...valuesOf(tenantId, selection), page.before, page.limit];
    return (await this.#database.query<FailedChangeRow>(listStatement, values)).map(toFailedChange);
  }

  /** Asks the runtimes to deliver changes again. Resolves with their number. */
  replay(tenantId: string, selection: FailedChangeSelection): Promise<number> {
    return this.#change(replayStatement, tenantId, selection);
  }

  /** Resolves with the number of changes that were dropped. */
  drop(tenantId: string, selection: FailedChangeSelection): Promise<number> {
    return this.#change(dropStatement, tenantId, selection);
  }

  async #change(
    statement: typeof replayStatement,
    tenantId: string,
    selection: FailedChangeSelection,
  ): Promise<number> {
    const [row] = await this.#database.query<{ changed: number }>(statement, valuesOf(tenantId, selection));
    return row?.changed ?? 0;
  }
}

function keysOf({ tenantId, application, functionName, collectionId }: TriggeredFunction): readonly string[] {
  return [tenantId, application, functionName, collectionId];
}

function valuesOf(
  tenantId: string,
  { ids, collections, application, functionName }: FailedChangeSelection,
): readonly unknown[] {
  return [tenantId, ids ?? null, collections ?? null, application ?? null, functionName ?? null];
}

function toFailedChange(row: FailedChangeRow): FailedChange {
  return {
    id: String(row.id),
    application: row.application,
    functionName: row.function_name,
    collection: row.collection,
    recordId: row.record_id,
    position: row.position,
    kind: row.kind,
    reason: row.reason,
    deliveries: row.deliveries,
    failedAt: row.failed_at,
    isReplaying: row.replaying,
    json: row.change,
  };
}
