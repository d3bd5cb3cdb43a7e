import { randomUUID } from 'node:crypto';
import type { CollectionDefinition } from '@drover/contracts';
import { isUniqueViolation, type Database, type Queryable, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { collectionUnknown } from '../model/collection-unknown.js';
import type { StoredCollection } from '../model/collection-model.js';
import type { ChangePlan, ChangeRefusal } from '../schema-change/change-plan.js';
import { describeChange } from '../schema-change/describe-change.js';
import { countObstacles } from '../schema-change/obstacles.js';
import { isMetadataOnly, needsCleanup, planChange, type PlannedChange } from '../schema-change/plan-change.js';
import { lockTenant, publishCollection, requireTargets, requireVersion } from './catalog-transaction.js';
import {
  changeStatements,
  toCollectionChange,
  type CollectionChangeRow,
  type CollectionChange,
} from './change-rows.js';
import { collectionStatements as statements, toCollection, type CollectionRow } from './collection-rows.js';
import { defaultCleanupDelayMs } from './collection-store.js';
import { collectionChangeRefused, collectionChangeRunning } from './store-errors.js';

export interface CollectionChangesOptions {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'publish'>;
  /** How long columns and indexes stay that workers with the version before still use. */
  readonly cleanupDelayMs?: number;
}

/** A change that a runner carries out. */
export interface ChangeInProgress {
  readonly change: CollectionChange;
  readonly planned: PlannedChange;
  /** Whether the new version is current already. */
  readonly isSwitched: boolean;
}

/** Changes of definitions: plans them, records them, and makes new versions current. A runner carries out their steps. */
export class CollectionChanges {
  readonly #options: CollectionChangesOptions;

  constructor(options: CollectionChangesOptions) {
    this.#options = options;
  }

  /** Says what a definition would change, and which records are in its way. Throws COLLECTION_UNKNOWN. */
  async plan(tenantId: string, name: string, definition: CollectionDefinition): Promise<ChangePlan> {
    const { database } = this.#options;
    const planned = await this.#planned(database, await findCollection(database, tenantId, name), definition);
    const counted = planned.refusals.length > 0 ? [] : await countObstacles(database, planned);
    return { steps: describeChange(planned), refusals: [...planned.refusals, ...counted] };
  }

  /**
   * Starts a change. One that only concerns the definition is done at once. Returns undefined if nothing changes. Throws
   * COLLECTION_UNKNOWN, COLLECTION_CHANGE_REFUSED, COLLECTION_VERSION_MISMATCH or COLLECTION_CHANGE_RUNNING.
   */
  async request(request: {
    readonly tenantId: string;
    readonly name: string;
    readonly definition: CollectionDefinition;
    readonly actor: string;
    readonly expectedVersion?: number | undefined;
  }): Promise<CollectionChange | undefined> {
    const { tenantId, name, definition, actor, expectedVersion } = request;
    const { database } = this.#options;
    const stored = await findCollection(database, tenantId, name);
    requireVersion(stored, expectedVersion);
    const planned = await this.#planned(database, stored, definition);
    const refusals = planned.refusals.length > 0 ? planned.refusals : await countObstacles(database, planned);
    if (refusals.length > 0) throw collectionChangeRefused({ collection: name, refusals });
    if (describeChange(planned).length === 0) return undefined;
    return database.transaction(async (tx) => {
      await lockTenant(tx, tenantId);
      requireVersion(await findCollection(tx, tenantId, name), stored.version);
      await requireTargets(tx, tenantId, planned.after.definition);
      const [running] = await tx.query<{ id: string }>(changeStatements.running, [stored.id]);
      if (running) throw collectionChangeRunning({ collection: name, changeId: running.id });
      const change = await insertChange(tx, planned, actor);
      if (isMetadataOnly(planned)) await this.#makeCurrent(tx, planned, actor);
      return change;
    });
  }

  async find(id: string): Promise<CollectionChange | undefined> {
    const [row] = await this.#options.database.query<CollectionChangeRow>(changeStatements.find, [id]);
    return row && toCollectionChange(row);
  }

  /** Returns the last changes of a collection, the newest first. */
  async list(tenantId: string, name: string): Promise<readonly CollectionChange[]> {
    const rows = await this.#options.database.query<CollectionChangeRow>(changeStatements.list, [tenantId, name]);
    return rows.map(toCollectionChange);
  }

  /** Returns a running change with its plan; undefined if it has ended or its collection was removed. */
  async inProgress(id: string): Promise<ChangeInProgress | undefined> {
    const { database } = this.#options;
    const [row] = await database.query<CollectionChangeRow>(changeStatements.find, [id]);
    if (row?.state !== 'running') return undefined;
    const [before] = await database.query<CollectionRow & { current_version: number }>(changeStatements.before, [
      row.collection_id,
      row.from_version,
    ]);
    if (!before) return undefined;
    const planned = planChange(toCollection(before), row.definition, await takenColumns(database, row));
    return { change: toCollectionChange(row), planned, isSwitched: before.current_version > row.from_version };
  }

  /** Makes the new version current. Returns false if the collection was removed or has another version. */
  makeCurrent({ change, planned }: ChangeInProgress): Promise<boolean> {
    return this.#options.database.transaction(async (tx) => {
      await lockTenant(tx, planned.after.tenantId);
      return this.#makeCurrent(tx, planned, change.createdBy);
    });
  }

  async report(id: string, step: string, progress?: { readonly done: number; readonly total: number }): Promise<void> {
    const values = [id, step, progress?.done ?? null, progress?.total ?? null];
    await this.#options.database.query(changeStatements.report, values);
  }

  async end(id: string): Promise<void> {
    await this.#options.database.query(changeStatements.end, [id, 'done', '[]']);
  }

  /** Ends a change that records are in the way of, and has everything removed that it has made. */
  async refuse({ change, planned }: ChangeInProgress, refusal: ChangeRefusal): Promise<void> {
    await this.#options.database.transaction(async (tx) => {
      await tx.query(changeStatements.end, [change.id, 'refused', JSON.stringify([refusal])]);
      await tx.query(statements.scheduleCleanup, [planned.after.table, planned.after.id, 0]);
    });
  }

  async #planned(
    target: Queryable,
    stored: StoredCollection,
    definition: CollectionDefinition,
  ): Promise<PlannedChange> {
    const rows = await target.query<{ column: string }>(statements.takenColumns, [stored.id]);
    return planChange(
      stored,
      definition,
      rows.map(({ column }) => column),
    );
  }

  async #makeCurrent(tx: Transaction, planned: PlannedChange, actor: string): Promise<boolean> {
    const { bus, cleanupDelayMs = defaultCleanupDelayMs } = this.#options;
    const { before, after, columns } = planned;
    const stored = { ...after, columns };
    const values = [after.id, before.version, JSON.stringify(after.definition), JSON.stringify(columns), actor];
    const changed = await tx.query(statements.nextVersion, values);
    if (changed.length === 0) return false;
    await publishCollection(bus, tx, stored, false);
    if (needsCleanup(planned)) await tx.query(statements.scheduleCleanup, [after.table, after.id, cleanupDelayMs]);
    return true;
  }
}

async function findCollection(target: Queryable, tenantId: string, name: string): Promise<StoredCollection> {
  const [row] = await target.query<CollectionRow>(statements.find, [tenantId, name]);
  if (!row) throw collectionUnknown({ collection: name, similar: undefined });
  return toCollection(row);
}

async function insertChange(tx: Transaction, planned: PlannedChange, actor: string): Promise<CollectionChange> {
  const { before, after, columns } = planned;
  const state = isMetadataOnly(planned) ? 'done' : 'running';
  const values = [
    randomUUID(),
    before.id,
    before.version,
    JSON.stringify(planned.requested),
    JSON.stringify(columns),
    state,
    actor,
  ];
  const [row] = await tx.query<CollectionChangeRow>(changeStatements.insert, values).catch((error: unknown) => {
    throw isUniqueViolation(error) ? collectionChangeRunning({ collection: after.name, changeId: '' }, error) : error;
  });
  if (!row) throw new Error('the change that was inserted is missing');
  return toCollectionChange(row);
}

/** Without the columns that this change has chosen: they are those of its own version once that is current. */
async function takenColumns(
  target: Queryable,
  { collection_id, from_version }: CollectionChangeRow,
): Promise<readonly string[]> {
  const rows = await target.query<{ column: string }>(
    `select distinct value as "column" from drover.collection_versions, jsonb_each_text(columns)
     where collection_id = $1 and version <= $2`,
    [collection_id, from_version],
  );
  return rows.map(({ column }) => column);
}
