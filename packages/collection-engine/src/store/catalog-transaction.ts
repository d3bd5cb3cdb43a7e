import { collectionChanged, type CollectionDefinition } from '@drover/contracts';
import { lockInTransaction, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { StoredCollection } from '../model/collection-model.js';
import type { CollectionRenames } from '../model/renamed-targets.js';
import { collectionStatements as statements } from './collection-rows.js';
import { collectionTargetMissing, collectionVersionMismatch } from './store-errors.js';

/**
 * Called with the names that collections of a tenant get, in the transaction that gives them: whether they are free elsewhere is known
 * outside of the store. Throws to refuse them.
 */
export type AdmitNames = (tx: Transaction, tenantId: string, names: readonly string[]) => Promise<void>;

/**
 * Called with the new names of collections, by their former ones, in the transaction that renames them: what is stored elsewhere about
 * the names follows in the same moment.
 */
export type FollowRenames = (tx: Transaction, tenantId: string, renames: CollectionRenames) => Promise<void>;

/** Keeps other creations, switches and removals of the tenant out until the transaction ends. */
export async function lockTenant(tx: Transaction, tenantId: string): Promise<void> {
  await lockInTransaction(tx, `drover.collections ${tenantId}`);
}

/** Throws COLLECTION_TARGET_MISSING. `coming` are names that collections will have when the definition becomes current. */
export async function requireTargets(
  tx: Transaction,
  tenantId: string,
  definition: CollectionDefinition,
  coming: ReadonlySet<string> = new Set(),
): Promise<void> {
  const targets = targetsOf(definition).filter((name) => !coming.has(name));
  if (targets.length === 0) return;
  const missing = await tx.query<{ name: string }>(statements.missing, [tenantId, targets]);
  if (missing.length > 0) {
    throw collectionTargetMissing({ collection: definition.name, targets: missing.map(({ name }) => name) });
  }
}

export function requireVersion({ definition, version }: StoredCollection, expected: number | undefined): void {
  if (expected === undefined || expected === version) return;
  throw collectionVersionMismatch({ collection: definition.name, expected, current: version });
}

/** Tells subscribers, once the transaction commits. */
export async function publishCollection(
  bus: Pick<EventBus, 'publish'>,
  tx: Transaction,
  { id, tenantId, version, definition }: StoredCollection,
  removed: boolean,
): Promise<void> {
  const payload = { tenantId, collectionId: id, name: definition.name, removed };
  await bus.publish([{ topic: collectionChanged, key: id, generation: version, payload }], tx);
}

/** Returns the names of the collections that fields refer to. */
function targetsOf({ fields }: CollectionDefinition): readonly string[] {
  const names = fields.flatMap(({ references, rollup }) => [references?.collection ?? [], rollup?.collection ?? []]);
  return [...new Set(names.flat())];
}
