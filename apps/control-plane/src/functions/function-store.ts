import { functionChanged, hiddenValue, type FunctionQueueState, type TenantId } from '@drover/contracts';
import { lockInTransaction, prepared, type Database, type Transaction } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import type { FunctionDefinition, QueueControl } from '@drover/dispatchers';
import { requestInvalid } from '../errors.js';
import type { EnvCipher } from './env-cipher.js';
import { functionExists } from './errors.js';
import { toDefinition, type SettledSpec } from './resolve-function.js';
import { sealedEnv } from './sealed-env.js';

interface QueueRow {
  readonly queue_state: FunctionQueueState | null;
  readonly queue_removing: boolean | null;
  readonly queue_changed_at: Date | null;
}

interface FunctionRow extends Partial<QueueRow> {
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
/** A part of all functions in the order of their names: those after a name, up to a limit. */
export interface FunctionPage {
  readonly limit?: number;
  readonly after?: string;
}

export interface FunctionAddress {
  readonly tenantId: TenantId;
  readonly name: string;
}

export interface StoredFunction {
  readonly definition: FunctionDefinition;
  /** Estimated size in a cache. */
  readonly bytes: number;
}

/** The queue of a function that is not registered: it belongs to an application. */
export interface StoredQueue {
  readonly address: FunctionAddress;
  readonly queueControl: QueueControl;
}

/** New variables of a function. The value `[secret]` stands for the stored one. */
export interface EnvChange {
  readonly values: Readonly<Record<string, string>>;
  /** Whether variables that are not named are removed. */
  readonly isWhole: boolean;
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
const queueColumns =
  'queue.state as queue_state, queue.removing as queue_removing, queue.changed_at as queue_changed_at';
// Locks the function until the transaction ends: a change is computed from what is stored, and no concurrent one is lost.
const lockStatement = prepared(
  'function-lock',
  'select * from drover.functions where tenant_id = $1 and name = $2 for update',
);
const updateStatement = prepared(
  'function-update',
  `with changed as (
     update drover.functions set spec = $3::jsonb, env_names = $4, env = $5, revision = revision + 1, updated_at = now()
     where tenant_id = $1 and name = $2 returning *
   ) select changed.*, ${queueColumns} from changed left join drover.function_queues queue using (tenant_id, name)`,
);
const removeStatement = prepared(
  'function-remove',
  `with queue as (delete from drover.function_queues where tenant_id = $1 and name = $2),
     runs as (delete from drover.function_schedule_runs where tenant_id = $1 and name = $2)
   delete from drover.functions where tenant_id = $1 and name = $2 returning *`,
);
const findStatement = prepared(
  'function-find',
  `select found.*, asked.tenant_id as asked_tenant_id, asked.name as asked_name, ${queueColumns}
   from unnest($1::text[], $2::text[]) as asked (tenant_id, name)
   left join drover.functions found on found.tenant_id = asked.tenant_id and found.name = asked.name collate "C"
   left join drover.function_queues queue on queue.tenant_id = asked.tenant_id and queue.name = asked.name collate "C"
   where found.name is not null or queue.name is not null`,
);
// Lists leave the encrypted variables out: no process is started from a list.
const listStatement = prepared(
  'function-list',
  `select found.tenant_id, found.name, generation, revision, spec, env_names, null::bytea as env, created_at, updated_at, ${queueColumns}
   from drover.functions found left join drover.function_queues queue using (tenant_id, name)
   where found.tenant_id = $1 and found.name > $2 order by found.name limit $3`,
);
const controlStatement = prepared(
  'function-queue-control',
  `insert into drover.function_queues as queue (tenant_id, name, state, removing) values ($1, $2, $3, $4)
   on conflict (tenant_id, name) do update set state = $3, removing = $4, changed_at = now()`,
);
const removingStatement = prepared(
  'function-queues-removing',
  'select tenant_id, name from drover.function_queues where removing',
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

  /**
   * Changes a function in place: it keeps its generation, and with it its queue. `change` returns the new specification, or throws to
   * leave the function as it is. Returns undefined if there is no function of that name.
   */
  update(
    tenantId: TenantId,
    name: string,
    change: (stored: SettledSpec) => SettledSpec,
    env?: EnvChange,
  ): Promise<FunctionDefinition | undefined> {
    return this.#database.transaction(async (tx) => {
      const [stored] = await tx.query<FunctionRow>(lockStatement, [tenantId, name]);
      if (!stored) return undefined;
      const spec = JSON.stringify(change(stored.spec));
      const sealed = env ? this.#changeEnv(stored, env) : { names: stored.env_names, env: stored.env };
      const [row] = await tx.query<FunctionRow>(updateStatement, [tenantId, name, spec, sealed.names, sealed.env]);
      if (!row) return undefined;
      await this.#publishChange(tx, row, false);
      return this.#toDefinition(row);
    });
  }

  #changeEnv(
    { tenant_id: tenantId, name, generation, env: sealed }: FunctionRow,
    { values, isWhole }: EnvChange,
  ): { readonly names: readonly string[]; readonly env: Buffer | null } {
    const owner = { tenantId, name, generation };
    const isNeeded = !isWhole || Object.values(values).includes(hiddenValue);
    const stored: ReadonlyMap<string, string> = sealed && isNeeded ? this.#cipher.open(owner, sealed) : new Map();
    const env = isWhole ? {} : Object.fromEntries(stored);
    for (const [variable, value] of Object.entries(values)) {
      const kept = value === hiddenValue ? stored.get(variable) : value;
      if (kept === undefined)
        throw requestInvalid({
          problem: `env.${variable} is "${hiddenValue}", which stands for the stored value, but none is stored. Send the value.`,
        });
      env[variable] = kept;
    }
    const names = Object.keys(env).toSorted();
    return { names, env: names.length > 0 ? this.#cipher.seal(owner, env) : null };
  }

  /** Sets the state of a function's queue. `generation` is that of the function. */
  async controlQueue(
    { tenantId, name, generation }: Pick<FunctionDefinition, 'tenantId' | 'name' | 'generation'>,
    { state, isRemoving }: Pick<QueueControl, 'state' | 'isRemoving'>,
  ): Promise<void> {
    await this.#database.transaction(async (tx) => {
      await tx.query(controlStatement, [tenantId, name, state, isRemoving]);
      await this.#publishChange(tx, { tenant_id: tenantId, name, generation }, false);
    });
  }

  /** Returns the functions that are to be removed when their queues are empty. */
  async listRemoving(): Promise<FunctionAddress[]> {
    const rows = await this.#database.query<{ tenant_id: TenantId; name: string }>(removingStatement, []);
    return rows.map(({ tenant_id: tenantId, name }) => ({ tenantId, name }));
  }

  /** Returns the removed function, or undefined if there was none. */
  remove(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    return this.#database.transaction(async (tx) => {
      const [row] = await tx.query<FunctionRow>(removeStatement, [tenantId, name]);
      if (!row) return undefined;
      await this.#publishChange(tx, row, true);
      return this.#toDefinition(row);
    });
  }

  async find(tenantId: TenantId, name: string): Promise<FunctionDefinition | undefined> {
    const [found] = await this.findAll([{ tenantId, name }]);
    return found && 'definition' in found ? found.definition : undefined;
  }

  /** Returns what is stored of the functions at `addresses`, in any order. */
  async findAll(addresses: readonly FunctionAddress[]): Promise<(StoredFunction | StoredQueue)[]> {
    type Row = FunctionRow & { readonly asked_tenant_id: TenantId; readonly asked_name: string };
    const rows = await this.#database.query<Row | (Row & { readonly name: null })>(findStatement, [
      addresses.map(({ tenantId }) => tenantId),
      addresses.map(({ name }) => name),
    ]);
    return rows.flatMap((row): (StoredFunction | StoredQueue)[] => {
      if (row.name !== null)
        return [
          { definition: this.#toDefinition(row), bytes: JSON.stringify(row.spec).length + (row.env?.length ?? 0) },
        ];
      const queueControl = toQueueControl(row);
      return queueControl ? [{ address: { tenantId: row.asked_tenant_id, name: row.asked_name }, queueControl }] : [];
    });
  }

  /** Returns all functions of a tenant, ordered by name. The values of their `env` cannot be revealed. */
  async list(tenantId: TenantId, { limit, after = '' }: FunctionPage = {}): Promise<FunctionDefinition[]> {
    const rows = await this.#database.query<FunctionRow>(listStatement, [tenantId, after, limit ?? null]);
    return rows.map((row) => this.#toDefinition(row));
  }

  /** The row is locked until the transaction ends, so the events of one function are published in order. */
  #publishChange(
    tx: Transaction,
    { tenant_id: tenantId, name, generation }: Pick<FunctionRow, 'tenant_id' | 'name' | 'generation'>,
    removed: boolean,
  ): Promise<void> {
    const payload = { tenantId, name, removed };
    return this.#bus.publish([{ topic: functionChanged, key: `${tenantId}/${name}`, generation, payload }], tx);
  }

  #toDefinition(row: FunctionRow): FunctionDefinition {
    const { tenant_id: tenantId, name, generation, revision } = row;
    const queueControl = toQueueControl(row);
    return toDefinition(row.spec, {
      tenantId,
      generation,
      revision,
      env: sealedEnv(this.#cipher, { tenantId, name, generation }, row.env_names, row.env),
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      ...(queueControl && { queueControl }),
    });
  }
}

function toQueueControl(row: Partial<QueueRow>): QueueControl | undefined {
  const { queue_state: state, queue_removing: isRemoving, queue_changed_at: changedAt } = row;
  return state && changedAt ? { state, isRemoving: isRemoving === true, changedAt: changedAt.getTime() } : undefined;
}
