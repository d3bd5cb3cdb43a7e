import {
  apiKeyChanged,
  collectionScopes,
  type ApiKey,
  type ApiKeyId,
  type NewApiKey,
  type Scope,
  type TenantId,
} from '@drover/contracts';
import { lockInTransaction, prepared, type Database, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { ParsedApiKey } from './api-key-format.js';
import { apiKeyNotFound } from './errors.js';

/** The columns that authentication needs. */
export interface StoredApiKey {
  readonly id: ApiKeyId;
  readonly tenantId: TenantId;
  readonly scopes: readonly Scope[];
  readonly digest: Buffer;
  readonly expiresAt: Date | undefined;
}

interface ApiKeyRow {
  readonly id: ApiKeyId;
  readonly tenant_id: TenantId;
  readonly name: string;
  readonly scopes: Scope[];
  readonly digest: Buffer;
  readonly generation: number;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
}

const findStatement = prepared('api-key-find', 'select * from drover.api_keys where id = $1 and revoked_at is null');
const listStatement = prepared(
  'api-key-list',
  `select * from drover.api_keys
   where tenant_id = $1 and revoked_at is null
     and ($2::text is null or (created_at, id) > (select created_at, id from drover.api_keys where id = $2 and tenant_id = $1))
   order by created_at, id limit $3`,
);

/** Stores API keys. Every operation except `find`, which looks up one key by its id, is limited to one tenant. */
export class ApiKeyStore {
  readonly #database: Database;
  readonly #bus: EventBus;

  constructor(database: Database, bus: EventBus) {
    this.#database = database;
    this.#bus = bus;
  }

  async find(id: ApiKeyId): Promise<StoredApiKey | undefined> {
    const [row] = await this.#database.query<ApiKeyRow>(findStatement, [id]);
    if (!row) return undefined;
    const { tenant_id: tenantId, scopes, digest, expires_at: expiresAt } = row;
    return { id, tenantId, scopes, digest, expiresAt: expiresAt ?? undefined };
  }

  /** Reads one row more than `limit` to find out whether there is a next page. */
  async list(
    tenantId: TenantId,
    limit: number,
    after?: string,
  ): Promise<{ readonly keys: ApiKey[]; readonly next?: string }> {
    const rows = await this.#database.query<ApiKeyRow>(listStatement, [tenantId, after ?? null, limit + 1]);
    const keys = rows.slice(0, limit).map((row) => toApiKey(row));
    const last = keys.at(-1);
    return { keys, ...(rows.length > limit && last && { next: last.id }) };
  }

  create(tenantId: TenantId, { id, digest }: ParsedApiKey, wanted: NewApiKey): Promise<ApiKey> {
    return this.#database.transaction(async (tx) => {
      const [row] = await tx.query<ApiKeyRow>(
        `insert into drover.api_keys (id, tenant_id, name, digest, scopes, expires_at) values ($1, $2, $3, $4, $5, $6) returning *`,
        [id, tenantId, wanted.name, digest, wanted.scopes, toDate(wanted.expiresAt)],
      );
      if (!row) throw new Error('the insert returned no row');
      await this.#publishChange(tx, row, false);
      return toApiKey(row);
    });
  }

  async revoke(tenantId: TenantId, keyId: string): Promise<void> {
    await this.#database.transaction(async (tx) => {
      const [row] = await tx.query<ApiKeyRow>(
        `update drover.api_keys set revoked_at = now(), generation = generation + 1
         where id = $1 and tenant_id = $2 and revoked_at is null returning *`,
        [keyId, tenantId],
      );
      if (!row) throw apiKeyNotFound({ keyId });
      await this.#publishChange(tx, row, true);
    });
  }

  /** Keys that are limited to a collection stay limited to it when it gets another name. For the transaction that renames it. */
  async followRenames(tx: Transaction, tenantId: string, renames: ReadonlyMap<string, string>): Promise<void> {
    const limited = [...renames].flatMap(([former, name]) =>
      collectionScopes.map((scope) => [`${scope}:${former}`, `${scope}:${name}`] as const),
    );
    const rows = await tx.query<ApiKeyRow>(
      `update drover.api_keys set generation = generation + 1, scopes = array(
         select coalesce(($3::text[])[array_position($2::text[], scope)], scope)
         from unnest(scopes) with ordinality as held (scope, place) order by place)
       where tenant_id = $1 and revoked_at is null and scopes && $2::text[] returning *`,
      [tenantId, limited.map(([former]) => former), limited.map(([, scope]) => scope)],
    );
    for (const row of rows) await this.#publishChange(tx, row, false);
  }

  /**
   * Stores a key that was made elsewhere. One that `isOnly` becomes the only bootstrap key, and the previous one is revoked. Returns
   * whether anything changed.
   */
  bootstrap(
    tenantId: TenantId,
    { id, digest }: ParsedApiKey,
    { name, scopes, isOnly }: { readonly name: string; readonly scopes: readonly Scope[]; readonly isOnly: boolean },
  ): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      await lockInTransaction(tx, 'drover.bootstrap-key');
      const [same] = await tx.query(
        'select 1 as same from drover.api_keys where id = $1 and tenant_id = $2 and digest = $3 and scopes = $4 and name = $5 and bootstrap = $6 and revoked_at is null',
        [id, tenantId, digest, scopes, name, isOnly],
      );
      if (same) return false;
      const replaced = await tx.query<ApiKeyRow>(
        `update drover.api_keys set revoked_at = now(), generation = generation + 1
         where $2 and bootstrap and revoked_at is null and id <> $1 returning *`,
        [id, isOnly],
      );
      for (const row of replaced) await this.#publishChange(tx, row, true);
      const [row] = await tx.query<ApiKeyRow>(
        `insert into drover.api_keys as key (id, tenant_id, name, digest, scopes, bootstrap)
         values ($1, $2, $5, $3, $4, $6)
         on conflict (id) do update set tenant_id = excluded.tenant_id, name = excluded.name, digest = excluded.digest, scopes = excluded.scopes, bootstrap = excluded.bootstrap,
           revoked_at = null, expires_at = null, generation = key.generation + 1
         returning *`,
        [id, tenantId, digest, scopes, name, isOnly],
      );
      if (row) await this.#publishChange(tx, row, false);
      return true;
    });
  }

  /** `lastUsed` in epoch milliseconds. */
  async recordUse(lastUsed: ReadonlyMap<ApiKeyId, number>): Promise<void> {
    await this.#database.query(
      `update drover.api_keys key set last_used_at = greatest(key.last_used_at, used.at)
       from unnest($1::text[], $2::timestamptz[]) as used (id, at) where key.id = used.id`,
      [[...lastUsed.keys()], [...lastUsed.values()].map((at) => new Date(at))],
    );
  }

  #publishChange(tx: Transaction, row: ApiKeyRow, revoked: boolean): Promise<void> {
    const payload = { keyId: row.id, tenantId: row.tenant_id, revoked };
    return this.#bus.publish([{ topic: apiKeyChanged, key: row.id, generation: row.generation, payload }], tx);
  }
}

/** Parses here rather than in PostgreSQL, which knows fewer time zones than RFC 3339 allows. */
function toDate(instant: string | undefined): Date | null {
  return instant === undefined ? null : new Date(instant);
}

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    scopes: row.scopes,
    createdAt: row.created_at.toISOString(),
    ...(row.expires_at && { expiresAt: row.expires_at.toISOString() }),
    ...(row.last_used_at && { lastUsedAt: row.last_used_at.toISOString() }),
  };
}
