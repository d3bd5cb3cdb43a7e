import { functionChanged, type FunctionPatch, type TenantId } from '@drover/contracts';
import { lockInTransaction, prepared, type Database, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { FunctionDefinition } from '@drover/dispatchers';
import type { EnvCipher } from './env-cipher.js';
import { functionExists } from './errors.js';
import { toDefinition, type SettledSpec } from './resolve-function.js';
import { sealedEnv } from './sealed-env.js';

interface FunctionRow {
  readonly tenant_id: TenantId;
  readonly name: string;
  readonly generation: number;
  readonly revision: number;
  readonly spec: SettledSpec;
  readonly env_names: readonly string[];
  readonly env: Buffer | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Identifies a function across tenants. */
export interface FunctionAddress {
  readonly tenantId: TenantId;
  readonly name: string;
}

export interface StoredFunction {
  readonly definition: FunctionDefinition;
  /** Estimated size in a cache. */
  readonly bytes: number;
}

const generationStatement = prepared(
  'function-generation',
  `select nextval('drover.function_generations') as generation`,
);
const insertStatement = prepared(
  'function-insert',
  `insert into drover.functions (tenant_id, name, generation, spec, env_names, env) values ($1, $2, $3, $4, $5, $6)
   on conflict (tenant_id, name) do nothing returning *`,
);
// Merges in the database: concurrent patches of other fields are kept.
const patchStatement = prepared(
  'function-patch',
  `update drover.functions set spec = spec || $3::jsonb, revision = revision + 1, updated_at = now()
   where tenant_id = $1 and name = $2 returning *`,
);
const removeStatement = prepared(
  'function-remove',
  'delete from drover.functions where tenant_id = $1 and name = $2 returning *',
);
const findStatement = prepared(
  'function-find',
  `select found.* from unnest($1::text[], $2::text[]) as asked (tenant_id, name)
   join drover.functions found on found.tenant_id = asked.tenant_id and found.name = asked.name collate "C"`,
);
// Lists leave the encrypted variables out: no process is started from a list.
const listStatement = prepared(
  'function-list',
  `select tenant_id, name, generation, revision, spec, env_names, null::bytea as env, created_at, updated_at
   from drover.functions where tenant_id = $1 order by name`,
);

/** Stores registered functions. Every operation is limited to one tenant; functions of other tenants do not exist for it. */
export class FunctionStore {
  readonly #database: Database;
  readonly #bus: EventBus;
  readonly #cipher: EnvCipher;

  constructor(database: Database, bus: EventBus, cipher: EnvCipher) {
    this.#database = database;
    this.#bus = bus;
    this.#cipher = cipher;
  }

  register(
    tenantId: TenantId,
    spec: SettledSpec,
    env: Readonly<Record<string, string>> = {},
  ): Promise<FunctionDefinition> {
    const { name } = spec;
    const names = Object.keys(env).toSorted();
    return this.#database.transaction(async (tx) => {
      // Serializes registrations of one name: otherwise a slow registration could draw a generation, wait while another one
      // is registered and removed, and then insert the older generation after the newer one.
      await lockInTransaction(tx, `drover.function ${tenantId}/${name}`);
      const [next] = await tx.query<{ generation: number }>(generationStatement);
      if (!next) throw new Error('the sequence returned no number');
      const { generation } = next;
      const sealed = names.length > 0 ? this.#cipher.seal({ tenantId, name, generation }, env) : null;
      const values = [tenantId, name, generation, JSON.stringify(spec), names, sealed];
      const [row] = await tx.query<FunctionRow>(insertStatement, values);
      if (!row) throw functionExists({ name });
      await this.#publishChange(tx, row, false);
      return this.#toDefinition(row);
    });
  }

  /** Returns undefined if there is no function of that name. */
  async patch(tenantId: TenantId, name: string, patch: FunctionPatch): Promise<FunctionDefinition | undefined> {
    const row = await this.#change(patchStatement, [tenantId, name, JSON.stringify(patch)], false);
    return row && this.#toDefinition(row);
  }

  /** Returns the removed function, or undefined if there was none. */
  async remove(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    const row = await this.#change(removeStatement, [tenantId, name], true);
    return row && this.#toDefinition(row);
  }

  async find(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    const [found] = await this.findAll([{ tenantId, name }]);
    return found?.definition;
  }

  /** Returns the existing functions among `addresses`, in any order. */
  async findAll(addresses: readonly FunctionAddress[]): Promise<StoredFunction[]> {
    const rows = await this.#database.query<FunctionRow>(findStatement, [
      addresses.map(({ tenantId }) => tenantId),
      addresses.map(({ name }) => name),
    ]);
    return rows.map((row) => ({
      definition: this.#toDefinition(row),
      bytes: JSON.stringify(row.spec).length + (row.env?.length ?? 0),
    }));
  }

  /** Returns all functions of a tenant, ordered by name. The values of their `env` cannot be revealed. */
  async list(tenantId: TenantId): Promise<FunctionDefinition[]> {
    const rows = await this.#database.query<FunctionRow>(listStatement, [tenantId]);
    return rows.map((row) => this.#toDefinition(row));
  }

  /** The statement locks the row until the transaction ends, so the events of one function are published in order. */
  #change(
    statement: typeof patchStatement,
    values: readonly unknown[],
    removed: boolean,
  ): Promise<FunctionRow | undefined> {
    return this.#database.transaction(async (tx) => {
      const [row] = await tx.query<FunctionRow>(statement, values);
      if (row) await this.#publishChange(tx, row, removed);
      return row;
    });
  }

  #publishChange(
    tx: Transaction,
    { tenant_id: tenantId, name, generation }: FunctionRow,
    removed: boolean,
  ): Promise<void> {
    const payload = { tenantId, name, removed };
    return this.#bus.publish([{ topic: functionChanged, key: `${tenantId}/${name}`, generation, payload }], tx);
  }

  #toDefinition(row: FunctionRow): FunctionDefinition {
    const { tenant_id: tenantId, name, generation, revision } = row;
    return toDefinition(row.spec, {
      tenantId,
      generation,
      revision,
      env: sealedEnv(this.#cipher, { tenantId, name, generation }, row.env_names, row.env),
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    });
  }
}
