import type { PicklistDefinition } from '@drover/contracts';
import { prepared, type Database, type Queryable, type Transaction } from '@drover/database';
import { lockTenant } from './catalog-transaction.js';
import { picklistInUse, picklistQuotaExceeded } from './store-errors.js';

/** A picklist of a tenant with its current values. */
export interface StoredPicklist {
  readonly definition: PicklistDefinition;
  readonly version: number;
  readonly updatedAt: Date;
  readonly updatedBy: string;
}

/** Most picklists of one tenant. */
const maxPicklists = 1_000;

const statements = {
  list: prepared(
    'picklist-list',
    'select definition, version, updated_at, updated_by from drover.picklists where tenant_id = $1 order by name',
  ),
  /** The caller holds the lock of the tenant, so no other insert comes between. */
  save: prepared(
    'picklist-save',
    `insert into drover.picklists (tenant_id, name, definition, updated_by)
     select $1, $2, $3, $4
     where (select count(*) from drover.picklists where tenant_id = $1 and name <> $2) < $5
     on conflict (tenant_id, name) do update
     set definition = excluded.definition, version = picklists.version + 1, updated_at = now(), updated_by = excluded.updated_by
     returning version`,
  ),
  remove: prepared('picklist-remove', 'delete from drover.picklists where tenant_id = $1 and name = $2 returning name'),
  /** Collections with a field that uses a picklist, now or when a change that is running has ended. */
  users: prepared(
    'picklist-users',
    `select distinct c.name from drover.collections c
     cross join lateral (
       select v.definition from drover.collection_versions v where v.collection_id = c.id and v.version = c.version
       union all
       select h.definition from drover.collection_changes h where h.collection_id = c.id and h.state = 'running'
     ) used
     cross join lateral jsonb_array_elements(used.definition -> 'fields') field
     where c.tenant_id = $1 and field ->> 'picklist' = $2 order by c.name`,
  ),
};

/** The picklists of tenants. What fields take from them is stored in the definitions of collections. */
export class PicklistStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  list(tenantId: string): Promise<readonly StoredPicklist[]> {
    return listPicklists(this.#database, tenantId);
  }

  /** Returns false if the picklist is unknown. Throws PICKLIST_IN_USE. */
  remove(tenantId: string, name: string): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      await lockTenant(tx, tenantId);
      const by = await picklistUsers(tx, tenantId, name);
      if (by.length > 0) throw picklistInUse({ picklist: name, by });
      return (await tx.query(statements.remove, [tenantId, name])).length > 0;
    });
  }
}

/** Returns the picklists of a tenant, ordered by name. */
export async function listPicklists(target: Queryable, tenantId: string): Promise<readonly StoredPicklist[]> {
  const rows = await target.query<{
    definition: PicklistDefinition;
    version: number;
    updated_at: Date;
    updated_by: string;
  }>(statements.list, [tenantId]);
  return rows.map(({ definition, version, updated_at: updatedAt, updated_by: updatedBy }) => ({
    definition,
    version,
    updatedAt,
    updatedBy,
  }));
}

/** Returns the names of collections that use a picklist, also of those that will when their running change has ended. */
export async function picklistUsers(target: Queryable, tenantId: string, name: string): Promise<readonly string[]> {
  const rows = await target.query<{ name: string }>(statements.users, [tenantId, name]);
  return rows.map((row) => row.name);
}

/** Stores a picklist in a transaction that holds the lock of the tenant. Throws PICKLIST_QUOTA_EXCEEDED. */
export async function savePicklist(
  tx: Transaction,
  tenantId: string,
  definition: PicklistDefinition,
  actor: string,
): Promise<void> {
  const values = [tenantId, definition.name, JSON.stringify(definition), actor, maxPicklists];
  const saved = await tx.query(statements.save, values);
  if (saved.length === 0) throw picklistQuotaExceeded({ limit: maxPicklists });
}
