import type { TenantId } from '@drover/contracts';
import { lockInTransaction, prepared, type Database, type Transaction } from '@drover/database';
import type { CatalogPayload } from '../application-catalog.js';

const addStatement = prepared(
  'payload-add',
  `insert into drover.application_payloads as payload (tenant_id, digest, bytes, files) values ($1, $2, $3, $4)
   on conflict (tenant_id, digest) do update set uploaded_at = now()`,
);
const findStatement = prepared(
  'payload-find',
  'select digest, bytes, files from drover.application_payloads where tenant_id = $1 and digest = $2',
);
// The row stays until the transaction ends, in which a version refers to it.
const holdStatement = prepared(
  'payload-hold',
  'select digest from drover.application_payloads where tenant_id = $1 and digest = $2 for key share',
);
// Waits for deployments that hold it, so that the next statement sees their versions.
const lockRowStatement = prepared(
  'payload-lock-row',
  'select digest from drover.application_payloads where tenant_id = $1 and digest = $2 for update',
);
// The time as text: a Date of JavaScript has fewer digits, and would not be equal below.
const unusedStatement = prepared(
  'payload-unused',
  `select tenant_id, digest, uploaded_at::text as uploaded_at from (
     select *, row_number() over (partition by tenant_id order by uploaded_at desc) as rank
     from drover.application_payloads payload where not exists (
       select from drover.application_versions version
       where version.tenant_id = payload.tenant_id and version.payload_digest = payload.digest)
   ) unused where uploaded_at < $1 or rank > $2`,
);
const removeStatement = prepared(
  'payload-remove',
  `delete from drover.application_payloads payload
   where tenant_id = $1 and digest = $2 and uploaded_at = $3::text::timestamptz and not exists (
     select from drover.application_versions version
     where version.tenant_id = payload.tenant_id and version.payload_digest = payload.digest) returning digest`,
);

interface UnusedRow {
  readonly tenant_id: TenantId;
  readonly digest: string;
  readonly uploaded_at: string;
}

/**
 * Which tenants have which payloads. Files appear and disappear under a lock on tenant and digest: an upload never finds files that are
 * about to be removed.
 */
export class PostgresPayloads {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(tenantId: TenantId, { digest, bytes, files }: CatalogPayload, place: () => Promise<void>): Promise<void> {
    return this.#database.transaction(async (tx) => {
      await lockPayload(tx, tenantId, digest);
      await place();
      await tx.query(addStatement, [tenantId, digest, bytes, files]);
    });
  }

  async find(tenantId: TenantId, digest: string): Promise<CatalogPayload | undefined> {
    const [row] = await this.#database.query<CatalogPayload>(findStatement, [tenantId, digest]);
    return row;
  }

  /** Keeps a payload until the transaction ends. Returns false if the tenant does not have it. */
  async hold(tx: Transaction, tenantId: TenantId, digest: string): Promise<boolean> {
    return (await tx.query(holdStatement, [tenantId, digest])).length > 0;
  }

  /** Returns how many payloads were removed. */
  async removeUnused(
    { beforeMs, maxUnused }: { readonly beforeMs: number; readonly maxUnused: number },
    discard: (tenantId: TenantId, digest: string) => Promise<void>,
  ): Promise<number> {
    const unused = await this.#database.query<UnusedRow>(unusedStatement, [new Date(beforeMs), maxUnused]);
    let removed = 0;
    for (const { tenant_id: tenantId, digest, uploaded_at: uploadedAt } of unused)
      removed += await this.#database.transaction(async (tx) => {
        await lockPayload(tx, tenantId, digest);
        await tx.query(lockRowStatement, [tenantId, digest]);
        const rows = await tx.query(removeStatement, [tenantId, digest, uploadedAt]);
        if (rows.length > 0) await discard(tenantId, digest);
        return rows.length;
      });
    return removed;
  }
}

function lockPayload(tx: Transaction, tenantId: TenantId, digest: string): Promise<void> {
  return lockInTransaction(tx, `drover.payload ${tenantId}/${digest}`);
}
