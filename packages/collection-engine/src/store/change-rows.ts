import type { CollectionDefinition, PicklistDefinition } from '@drover/contracts';
import { prepared } from '@drover/database';
import type { StoredCollection } from '../model/collection-model.js';
import type { ChangeRefusal } from '../schema-change/change-plan.js';

/**
 * - running: a runner prepares the table, makes the new version current together with those of its set, and drops constraints that it
 *   does not have
 * - done: the new version is current and nothing of the one before is enforced any more
 * - refused: records were in the way; the version before is still current
 */
export type CollectionChangeState = 'running' | 'done' | 'refused';

/** A change of a definition, and how far it is. */
export interface CollectionChange {
  readonly id: string;
  readonly collectionId: string;
  readonly fromVersion: number;
  readonly state: CollectionChangeState;
  /** What is done at the moment. */
  readonly step: string;
  readonly recordsDone: number;
  readonly recordsTotal: number | undefined;
  readonly refusals: readonly ChangeRefusal[];
  /** Of the changes that become current together with this one. */
  readonly setId: string | undefined;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly endedAt: Date | undefined;
}

export interface CollectionChangeRow {
  readonly id: string;
  readonly collection_id: string;
  readonly from_version: number;
  readonly definition: CollectionDefinition;
  readonly columns: StoredCollection['columns'];
  readonly state: CollectionChangeState;
  readonly step: string;
  readonly records_done: number;
  readonly records_total: number | null;
  readonly refusals: readonly ChangeRefusal[];
  readonly set_id: string | null;
  readonly is_prepared: boolean;
  readonly renamed_targets: Readonly<Record<string, string>>;
  readonly created_at: Date;
  readonly created_by: string;
  readonly ended_at: Date | null;
}

export interface ChangeSetRow {
  /** Number of its changes. */
  readonly size: number;
  readonly created: readonly CollectionDefinition[];
  readonly picklist: PicklistDefinition | null;
}

export const changeStatements = {
  insert: prepared(
    'collection-change-insert',
    `insert into drover.collection_changes (id, collection_id, from_version, definition, columns, state, created_by, set_id, renamed_targets, ended_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, case when $6 = 'running' then null else now() end) returning *`,
  ),
  insertSet: prepared(
    'collection-change-set-insert',
    'insert into drover.collection_change_sets (id, size, created, picklist) values ($1, $2, $3, $4)',
  ),
  findSet: prepared(
    'collection-change-set-find',
    'select size, created, picklist from drover.collection_change_sets where id = $1',
  ),
  /** Changes of a set that have not ended. */
  members: prepared(
    'collection-change-set-members',
    `select * from drover.collection_changes where set_id = $1 and state = 'running' order by created_at, id`,
  ),
  setPrepared: prepared(
    'collection-change-prepared',
    `update drover.collection_changes set is_prepared = true, step = 'Wait for the other collections of the request'
     where id = $1 and state = 'running'`,
  ),
  /** Ends a set: its changes go on, or have ended, each for itself. */
  dissolveSet: prepared(
    'collection-change-set-dissolve',
    'update drover.collection_changes set set_id = null, is_prepared = false where set_id = $1',
  ),
  removeSet: prepared('collection-change-set-remove', 'delete from drover.collection_change_sets where id = $1'),
  find: prepared('collection-change-find', 'select * from drover.collection_changes where id = $1'),
  running: prepared(
    'collection-change-running',
    `select id from drover.collection_changes where collection_id = $1 and state = 'running'`,
  ),
  allRunning: prepared(
    'collection-changes-running',
    `select id from drover.collection_changes where state = 'running' and not is_prepared order by created_at`,
  ),
  list: prepared(
    'collection-changes-list',
    `select h.* from drover.collection_changes h join drover.collections c on c.id = h.collection_id
     where c.tenant_id = $1 and c.name = $2 order by h.created_at desc limit 100`,
  ),
  report: prepared(
    'collection-change-report',
    `update drover.collection_changes set step = $2, records_done = coalesce($3, records_done), records_total = coalesce($4, records_total)
     where id = $1 and state = 'running'`,
  ),
  end: prepared(
    'collection-change-end',
    `update drover.collection_changes set state = $2, refusals = $3, step = '', ended_at = now()
     where id = $1 and state = 'running'`,
  ),
  /** The collection as the change found it. */
  before: prepared(
    'collection-change-before',
    `select c.id, c.tenant_id, v.version, v.definition, v.table_name, v.columns, c.version as current_version,
       c.created_at, c.created_by, v.created_at as updated_at, v.created_by as updated_by
     from drover.collections c join drover.collection_versions v on v.collection_id = c.id and v.version = $2
     where c.id = $1`,
  ),
  cleanUpCollection: prepared(
    'collection-cleanup-of-collection',
    `insert into drover.collection_cleanups (table_name, collection_id, due_at)
     select v.table_name, c.id, now() from drover.collections c
     join drover.collection_versions v on v.collection_id = c.id and v.version = c.version where c.id = $1
     on conflict (table_name) do nothing`,
  ),
  dueCleanups: prepared(
    'collection-cleanups-due',
    `select table_name, collection_id from drover.collection_cleanups where due_at <= now() order by due_at`,
  ),
  isCleanupDue: prepared(
    'collection-cleanup-due',
    'select from drover.collection_cleanups where table_name = $1 and due_at <= now()',
  ),
  endCleanup: prepared(
    'collection-cleanup-end',
    'delete from drover.collection_cleanups where table_name = $1 and due_at <= now()',
  ),
  cleanedColumns: prepared(
    'collection-cleaned-columns',
    'select cleaned_columns from drover.collections where id = $1',
  ),
  addCleanedColumns: prepared(
    'collection-cleaned-columns-add',
    'update drover.collections set cleaned_columns = cleaned_columns || $2::text[] where id = $1',
  ),
};

export function toCollectionChange(row: CollectionChangeRow): CollectionChange {
  return {
    id: row.id,
    collectionId: row.collection_id,
    fromVersion: row.from_version,
    state: row.state,
    step: row.step,
    recordsDone: row.records_done,
    recordsTotal: row.records_total ?? undefined,
    refusals: row.refusals,
    setId: row.set_id ?? undefined,
    createdAt: row.created_at,
    createdBy: row.created_by,
    endedAt: row.ended_at ?? undefined,
  };
}
