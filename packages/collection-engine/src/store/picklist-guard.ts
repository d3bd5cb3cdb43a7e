import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from '@drover/database';
import { listPicklists, picklistUsers } from './picklist-store.js';
import { picklistChanged } from './store-errors.js';
import type { VersionSwitch } from './switch-versions.js';

/**
 * Checks that definitions have the values of the picklists that they use, and that a picklist changes with all collections that use it.
 * Both may have changed since the definitions were made. The caller holds the lock of the tenant. Throws PICKLIST_CHANGED.
 */
export async function requirePicklists(
  tx: Transaction,
  { tenantId, changed, created, picklist }: VersionSwitch,
): Promise<void> {
  const fields = [...changed.map(({ after }) => after.definition), ...created].flatMap((one) => one.fields);
  const isConcerned = picklist !== undefined || fields.some((field) => field.picklist !== undefined);
  if (!isConcerned) return;
  const stored = (await listPicklists(tx, tenantId)).map(({ definition }) => definition);
  const current = new Map([...stored, ...(picklist ? [picklist] : [])].map(({ name, values }) => [name, values]));
  for (const { picklist: name, values } of fields) {
    if (name !== undefined && !isDeepStrictEqual(current.get(name), values)) throw picklistChanged({ picklist: name });
  }
  if (!picklist) return;
  const given = new Set(changed.map(({ before }) => before.name));
  const users = await picklistUsers(tx, tenantId, picklist.name);
  const isSame = isDeepStrictEqual(stored.find(({ name }) => name === picklist.name)?.values, picklist.values);
  if (!isSame && users.some((name) => !given.has(name))) throw picklistChanged({ picklist: picklist.name });
}
