import { randomUUID } from 'node:crypto';
import type { CollectionDefinition, PicklistDefinition } from '@drover/contracts';
import { isUniqueViolation, type Database, type Queryable, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { CollectionRenames } from '../model/renamed-targets.js';
import { collectionUnknown } from '../model/collection-unknown.js';
import type { StoredCollection } from '../model/collection-model.js';
import type { ChangePlan, ChangeRefusal } from '../schema-change/change-plan.js';
import { describeChange } from '../schema-change/describe-change.js';
import { countObstacles } from '../schema-change/obstacles.js';
import { isMetadataOnly, planChange, type PlannedChange } from '../schema-change/plan-change.js';
import { requirePatternIndexes } from '../storage/pattern-index.js';
import {
  lockTenant,
  requireTargets,
  requireVersion,
  type AdmitNames,
  type FollowRenames,
} from './catalog-transaction.js';
import {
  changeStatements,
  toCollectionChange,
  type ChangeSetRow,
  type CollectionChangeRow,
  type CollectionChange,
} from './change-rows.js';
import {
  collectionStatements as statements,
  toCollection,
  type CatalogedCollection,
  type CollectionRow,
} from './collection-rows.js';
import { defaultCleanupDelayMs } from './collection-store.js';
import { defaultMaxCollections } from './insert-collection.js';
import { requirePicklists } from './picklist-guard.js';
import { collectionChangeRefused, collectionChangeRunning, collectionSetBroken } from './store-errors.js';
import { newNamesOf, switchVersions, type SwitchOptions, type VersionSwitch } from './switch-versions.js';

export interface CollectionChangesOptions {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'publish'>;
  /** Most collections of one tenant. */
  readonly maxCollections?: number;
  /** How long columns and indexes stay that workers with the version before still use. */
  readonly cleanupDelayMs?: number;
  readonly admitNames?: AdmitNames | undefined;
  readonly followRenames?: FollowRenames | undefined;
}

/** A change that a runner carries out. */
export interface ChangeInProgress {
  readonly change: CollectionChange;
  readonly planned: PlannedChange;
  /** Whether the new version is current already. */
  readonly isSwitched: boolean;
}

/** A new definition of the collection that has this name now. */
export interface RequestedChange {
  readonly name: string;
  readonly definition: CollectionDefinition;
  readonly expectedVersion?: number | undefined;
}

/** Definitions that become current together. */
export interface RequestedSet {
  readonly tenantId: string;
  readonly actor: string;
  readonly changed: readonly RequestedChange[];
  readonly created: readonly CollectionDefinition[];
  /** A picklist that is stored together with all collections that use it. */
  readonly picklist?: PicklistDefinition;
}

/** What has become of a set: changes that are done or run, without those that change nothing, and collections that exist already. */
export interface StartedSet {
  readonly changes: readonly CollectionChange[];
  readonly created: readonly CatalogedCollection[];
}

/** `gone`: the change has ended, or its collection was removed. */
export type SwitchOutcome = 'current' | 'waiting' | 'gone';

/** Changes of definitions: plans them, records them, and makes new versions current. A runner carries out their steps. */
export class CollectionChanges {
  readonly #options: CollectionChangesOptions;

  constructor(options: CollectionChangesOptions) {
    this.#options = options;
  }

  /** Says what a definition would change, and which records are in its way. Throws COLLECTION_UNKNOWN. */
  async plan(
    tenantId: string,
    name: string,
    definition: CollectionDefinition,
    renames?: CollectionRenames,
  ): Promise<ChangePlan> {
    const { database } = this.#options;
    const planned = await this.#planned(await findCollection(database, tenantId, name), definition, renames);
    const counted = planned.refusals.length > 0 ? [] : await countObstacles(database, planned);
    return { steps: describeChange(planned), refusals: [...planned.refusals, ...counted] };
  }

  /**
   * Starts a change of one collection; see `requestSet`. Returns undefined if nothing changes. Throws COLLECTION_UNKNOWN,
   * COLLECTION_CHANGE_REFUSED, COLLECTION_VERSION_MISMATCH or COLLECTION_CHANGE_RUNNING.
   */
  async request(
    request: RequestedChange & { readonly tenantId: string; readonly actor: string },
  ): Promise<CollectionChange | undefined> {
    const { tenantId, actor, ...change } = request;
    const { changes } = await this.requestSet({ tenantId, actor, changed: [change], created: [] });
    return changes[0];
  }

  /**
   * Starts changes of collections that become current together: all or none. New collections are created in the same transaction.
   * If only definitions are concerned, this is it; else a runner prepares the tables first. Throws what `request` does, and
   * COLLECTION_EXISTS, COLLECTION_QUOTA_EXCEEDED, COLLECTION_TARGET_MISSING, PICKLIST_CHANGED or PICKLIST_QUOTA_EXCEEDED, and what
   * `admitNames` throws.
   */
  async requestSet(request: RequestedSet): Promise<StartedSet> {
    const { tenantId, actor, changed, created, picklist } = request;
    const { database } = this.#options;
    const renames = renamesIn(changed);
    await requirePatternIndexes(database, [...changed.map(({ definition }) => definition), ...created]);
    const accepted = await Promise.all(changed.map((change) => this.#accepted(tenantId, change, renames)));
    const planned = accepted.filter((one) => describeChange(one).length > 0);
    if (planned.length + created.length === 0 && !picklist) return { changes: [], created: [] };
    const versions: VersionSwitch = { tenantId, actor, changed: planned, created, picklist };
    return database.transaction(async (tx) => {
      await lockTenant(tx, tenantId);
      for (const { before } of planned) {
        requireVersion(await findCollection(tx, tenantId, before.name), before.version);
        const [running] = await tx.query<{ id: string }>(changeStatements.running, [before.id]);
        if (running) throw collectionChangeRunning({ collection: before.name, changeId: running.id });
      }
      await requirePicklists(tx, versions);
      if (!planned.every(isMetadataOnly)) {
        // Names are admitted again when the versions become current: they are free for others until then.
        await this.#options.admitNames?.(tx, tenantId, newNamesOf(versions));
        return { changes: await startChanges(tx, versions), created: [] };
      }
      const changes: CollectionChange[] = [];
      for (const one of planned) changes.push(await insertChange(tx, one, actor, { state: 'done' }));
      const inserted = await switchVersions(tx, this.#switchOptions, versions);
      if (!inserted) throw collectionSetBroken({});
      return { changes, created: inserted };
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
    return row?.state === 'running' ? planOf(database, row) : undefined;
  }

  /**
   * Makes the new version current, or waits with it for the other changes of its set: the last of them makes all current. Throws
   * COLLECTION_EXISTS, COLLECTION_QUOTA_EXCEEDED or COLLECTION_TARGET_MISSING, and nothing becomes current.
   */
  makeCurrent({ change, planned }: ChangeInProgress): Promise<SwitchOutcome> {
    const { tenantId } = planned.after;
    return this.#options.database.transaction(async (tx) => {
      await lockTenant(tx, tenantId);
      const versions = { tenantId, actor: change.createdBy, changed: [planned], created: [] };
      if (change.setId !== undefined) return this.#makeSetCurrent(tx, change, change.setId, versions);
      return (await switchVersions(tx, this.#switchOptions, versions)) ? 'current' : 'gone';
    });
  }

  async report(id: string, step: string, progress?: { readonly done: number; readonly total: number }): Promise<void> {
    const values = [id, step, progress?.done ?? null, progress?.total ?? null];
    await this.#options.database.query(changeStatements.report, values);
  }

  async end(id: string): Promise<void> {
    await this.#options.database.query(changeStatements.end, [id, 'done', '[]']);
  }

  /** Ends a change that records are in the way of, with all changes of its set, and has everything removed that they have made. */
  async refuse({ change, planned }: ChangeInProgress, refusal: ChangeRefusal): Promise<void> {
    const { id, name: collection, tenantId } = planned.after;
    await this.#options.database.transaction(async (tx) => {
      await lockTenant(tx, tenantId);
      const set =
        change.setId === undefined ? [] : await tx.query<CollectionChangeRow>(changeStatements.members, [change.setId]);
      await tx.query(changeStatements.end, [change.id, 'refused', JSON.stringify([refusal])]);
      await tx.query(statements.scheduleCleanup, [planned.after.table, id, 0]);
      for (const other of set.filter((member) => member.id !== change.id)) {
        await tx.query(changeStatements.end, [other.id, 'refused', JSON.stringify([{ ...refusal, collection }])]);
        await tx.query(changeStatements.cleanUpCollection, [other.collection_id]);
      }
      if (change.setId !== undefined) await dissolveSet(tx, change.setId);
    });
  }

  get #switchOptions(): SwitchOptions {
    const { bus, admitNames, followRenames } = this.#options;
    const { cleanupDelayMs = defaultCleanupDelayMs, maxCollections = defaultMaxCollections } = this.#options;
    return { bus, cleanupDelayMs, maxCollections, admitNames, followRenames };
  }

  /** Plans a change. Throws COLLECTION_UNKNOWN, COLLECTION_VERSION_MISMATCH or COLLECTION_CHANGE_REFUSED. */
  async #accepted(
    tenantId: string,
    { name, definition, expectedVersion }: RequestedChange,
    renames: CollectionRenames,
  ): Promise<PlannedChange> {
    const { database } = this.#options;
    const stored = await findCollection(database, tenantId, name);
    requireVersion(stored, expectedVersion);
    const planned = await this.#planned(stored, definition, renames);
    const refusals = planned.refusals.length > 0 ? planned.refusals : await countObstacles(database, planned);
    if (refusals.length > 0) throw collectionChangeRefused({ collection: name, refusals });
    return planned;
  }

  async #planned(
    stored: StoredCollection,
    definition: CollectionDefinition,
    renames?: CollectionRenames,
  ): Promise<PlannedChange> {
    const rows = await this.#options.database.query<{ column: string }>(statements.takenColumns, [stored.id]);
    const taken = rows.map(({ column }) => column);
    return planChange(stored, definition, taken, renames);
  }

  async #makeSetCurrent(
    tx: Transaction,
    { id }: CollectionChange,
    setId: string,
    { tenantId, actor }: VersionSwitch,
  ): Promise<SwitchOutcome> {
    await tx.query(changeStatements.setPrepared, [id]);
    const members = await tx.query<CollectionChangeRow>(changeStatements.members, [setId]);
    const [set] = await tx.query<ChangeSetRow>(changeStatements.findSet, [setId]);
    if (!set || !members.some((member) => member.id === id)) return 'gone';
    // A removed collection has no changes any more.
    if (members.length < set.size) throw collectionSetBroken({});
    if (!members.every(({ is_prepared }) => is_prepared)) return 'waiting';
    const changed = await Promise.all(members.map((member) => planOf(tx, member)));
    const versions = {
      tenantId,
      actor,
      created: set.created,
      changed: changed.flatMap((one) => one?.planned ?? []),
      picklist: set.picklist ?? undefined,
    };
    if (!(await switchVersions(tx, this.#switchOptions, versions))) throw collectionSetBroken({});
    await dissolveSet(tx, setId);
    return 'current';
  }
}

async function findCollection(target: Queryable, tenantId: string, name: string): Promise<StoredCollection> {
  const [row] = await target.query<CollectionRow>(statements.find, [tenantId, name]);
  if (!row) throw collectionUnknown({ collection: name, similar: undefined });
  return toCollection(row);
}

/** Returns the new names of collections that a set renames, by their former names. */
export function renamesIn(changed: readonly RequestedChange[]): CollectionRenames {
  return new Map(
    changed.flatMap(({ name, definition }) => (definition.name === name ? [] : [[name, definition.name] as const])),
  );
}

/** Records changes that a runner carries out. Throws COLLECTION_TARGET_MISSING. */
async function startChanges(
  tx: Transaction,
  { tenantId, actor, changed, created, picklist }: VersionSwitch,
): Promise<readonly CollectionChange[]> {
  const definitions = [...changed.map(({ after }) => after.definition), ...created];
  const coming = new Set(definitions.map(({ name }) => name));
  for (const definition of definitions) await requireTargets(tx, tenantId, definition, coming);
  const setId = definitions.length > 1 || picklist ? randomUUID() : undefined;
  if (setId !== undefined) {
    const values = [setId, changed.length, JSON.stringify(created), picklist ? JSON.stringify(picklist) : null];
    await tx.query(changeStatements.insertSet, values);
  }
  const changes: CollectionChange[] = [];
  for (const planned of changed) changes.push(await insertChange(tx, planned, actor, { state: 'running', setId }));
  return changes;
}

async function dissolveSet(tx: Transaction, setId: string): Promise<void> {
  await tx.query(changeStatements.dissolveSet, [setId]);
  await tx.query(changeStatements.removeSet, [setId]);
}

async function insertChange(
  tx: Transaction,
  { before, columns, requested, renamedTargets }: PlannedChange,
  actor: string,
  { state, setId }: { readonly state: 'running' | 'done'; readonly setId?: string | undefined },
): Promise<CollectionChange> {
  const values = [
    randomUUID(),
    before.id,
    before.version,
    JSON.stringify(requested),
    JSON.stringify(columns),
    state,
    actor,
    setId ?? null,
    JSON.stringify(Object.fromEntries(renamedTargets)),
  ];
  const [row] = await tx.query<CollectionChangeRow>(changeStatements.insert, values).catch((error: unknown) => {
    throw isUniqueViolation(error) ? collectionChangeRunning({ collection: before.name, changeId: '' }, error) : error;
  });
  if (!row) throw new Error('the change that was inserted is missing');
  return toCollectionChange(row);
}

/** Makes the plan of a recorded change again; undefined if its collection was removed. */
async function planOf(target: Queryable, row: CollectionChangeRow): Promise<ChangeInProgress | undefined> {
  const [before] = await target.query<CollectionRow & { current_version: number }>(changeStatements.before, [
    row.collection_id,
    row.from_version,
  ]);
  if (!before) return undefined;
  const renames = new Map(Object.entries(row.renamed_targets));
  const planned = planChange(toCollection(before), row.definition, await takenColumns(target, row), renames);
  return { change: toCollectionChange(row), planned, isSwitched: before.current_version > row.from_version };
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
