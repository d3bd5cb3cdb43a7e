import type { CollectionDefinition, PicklistDefinition } from '@drover/contracts';
import { isUniqueViolation, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { needsCleanup, type PlannedChange } from '../schema-change/plan-change.js';
import type { CollectionRenames } from '../model/renamed-targets.js';
import { publishCollection, requireTargets, type AdmitNames, type FollowRenames } from './catalog-transaction.js';
import { collectionStatements as statements, type CatalogedCollection } from './collection-rows.js';
import { insertCollection } from './insert-collection.js';
import { savePicklist } from './picklist-store.js';
import { collectionExists } from './store-errors.js';

export interface SwitchOptions {
  readonly bus: Pick<EventBus, 'publish'>;
  readonly maxCollections: number;
  /** How long columns and indexes stay that workers with the version before still use. */
  readonly cleanupDelayMs: number;
  readonly admitNames: AdmitNames | undefined;
  readonly followRenames: FollowRenames | undefined;
}

/** What becomes current in one transaction. */
export interface VersionSwitch {
  readonly tenantId: string;
  readonly actor: string;
  readonly changed: readonly PlannedChange[];
  readonly created: readonly CollectionDefinition[];
  readonly picklist?: PicklistDefinition | undefined;
}

/**
 * Makes new versions current and creates collections, in a transaction that holds the lock of the tenant. Returns the collections that
 * were created; undefined if one that changes was removed or has another version. Throws COLLECTION_EXISTS, COLLECTION_QUOTA_EXCEEDED or
 * COLLECTION_TARGET_MISSING, or PICKLIST_QUOTA_EXCEEDED, and what `admitNames` throws.
 */
export async function switchVersions(
  tx: Transaction,
  options: SwitchOptions,
  versions: VersionSwitch,
): Promise<readonly CatalogedCollection[] | undefined> {
  const { tenantId, actor, changed, created, picklist } = versions;
  await options.admitNames?.(tx, tenantId, newNamesOf(versions));
  if (picklist) await savePicklist(tx, tenantId, picklist, actor);
  for (const planned of changed) if (!(await switchVersion(tx, options, planned, actor))) return undefined;
  const renames = renamesOf(changed);
  if (renames.size > 0) await options.followRenames?.(tx, tenantId, renames);
  // After the renames, so that a new collection may have the name that another one had.
  const inserted: CatalogedCollection[] = [];
  for (const definition of created) {
    inserted.push(await insertCollection(tx, options, { tenantId, definition, actor }));
  }
  const definitions = [...changed.map(({ after }) => after.definition), ...created];
  for (const definition of definitions) await requireTargets(tx, tenantId, definition);
  return inserted;
}

/** Returns the names of new collections, and those of renamed ones. */
export function newNamesOf({ changed, created }: VersionSwitch): readonly string[] {
  return [...renamesOf(changed).values(), ...created.map(({ name }) => name)];
}

const renamesOf = (changed: readonly PlannedChange[]): CollectionRenames =>
  new Map(
    changed
      .filter(({ before, after }) => after.name !== before.name)
      .map(({ before, after }) => [before.name, after.name]),
  );

async function switchVersion(
  tx: Transaction,
  { bus, cleanupDelayMs }: SwitchOptions,
  planned: PlannedChange,
  actor: string,
): Promise<boolean> {
  const { before, after, columns } = planned;
  const values = [
    after.id,
    before.version,
    JSON.stringify(after.definition),
    JSON.stringify(columns),
    actor,
    after.name,
  ];
  const switched = await tx.query(statements.nextVersion, values).catch((error: unknown) => {
    throw isUniqueViolation(error) ? collectionExists({ collection: after.name }, error) : error;
  });
  if (switched.length === 0) return false;
  await publishCollection(bus, tx, { ...after, columns }, false);
  if (needsCleanup(planned)) await tx.query(statements.scheduleCleanup, [after.table, after.id, cleanupDelayMs]);
  return true;
}
