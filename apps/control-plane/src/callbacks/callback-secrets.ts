import type { CallbackSecret, NewCallbackSecret, TenantId } from '@drover/contracts';
import { prepared, type Database } from '@drover/database';
import type { Clock, Randomness } from '@drover/service-kit';
import type { EnvCipher, EnvOwner } from '../functions/env-cipher.js';
import { callbackSecretNeedsKey, callbackSecretNotFound } from './errors.js';

export interface CallbackSecretsOptions {
  readonly database: Database;
  readonly cipher: EnvCipher;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'bytes' | 'uuid'>;
}

interface SecretRow {
  readonly id: string;
  readonly function_name: string;
  readonly sealed: Buffer;
  readonly created_at: Date;
  readonly expires_at: Date | null;
}

/** The keys of one tenant, as they were read. */
interface TenantKeys {
  readonly readAtMs: number;
  readonly byFunction: ReadonlyMap<string, readonly { readonly key: Buffer; readonly expiresAt: number }[]>;
}

const listStatement = prepared(
  'callback-secrets',
  `select id, function_name, sealed, created_at, expires_at from drover.callback_secrets
   where tenant_id = $1 and (expires_at is null or expires_at > $2) order by created_at desc, id`,
);
const insertStatement = prepared(
  'callback-secret-insert',
  `insert into drover.callback_secrets (tenant_id, id, function_name, sealed, created_at) values ($1, $2, $3, $4, $5)`,
);
const replaceStatement = prepared(
  'callback-secret-replace',
  `update drover.callback_secrets set expires_at = $3 where tenant_id = $1 and function_name = $2 and expires_at is null`,
);
const sweepStatement = prepared(
  'callback-secret-sweep',
  'delete from drover.callback_secrets where tenant_id = $1 and expires_at <= $2',
);
const deleteStatement = prepared(
  'callback-secret-delete',
  'delete from drover.callback_secrets where tenant_id = $1 and id = $2 returning id',
);

const keyBytes = 32;
const defaultOverlapMs = 86_400_000;
/** How long other replicas may sign with the keys of before. */
const cachedMs = 5_000;
const maxTenants = 10_000;
/** Signatures of one delivery. */
const maxKeys = 4;

/**
 * Stores the secrets that sign callbacks, encrypted, for a function or for a whole tenant. A new secret replaces the former one of the
 * same function after an overlap, in which both sign, so that receivers can change theirs at any moment in between.
 */
export class CallbackSecrets {
  readonly #options: CallbackSecretsOptions;
  readonly #cached = new Map<string, TenantKeys>();

  constructor(options: CallbackSecretsOptions) {
    this.#options = options;
  }

  async list(tenantId: TenantId): Promise<CallbackSecret[]> {
    return (await this.#read(tenantId)).map(toCallbackSecret);
  }

  /** Returns the new secret with its value, which cannot be read again. */
  async create(
    tenantId: TenantId,
    { function: functionName = '', overlapMs = defaultOverlapMs }: NewCallbackSecret,
  ): Promise<CallbackSecret & { readonly secret: string }> {
    const { database, cipher, clock, randomness } = this.#options;
    if (!cipher.hasKey) throw callbackSecretNeedsKey({});
    const id = randomness.uuid();
    const value = randomness.bytes(keyBytes).toString('base64');
    const sealed = cipher.seal(ownerOf(tenantId, id), { value });
    const now = new Date(clock.now());
    await database.transaction(async (tx) => {
      await tx.query(sweepStatement, [tenantId, now]);
      await tx.query(replaceStatement, [tenantId, functionName, new Date(clock.now() + overlapMs)]);
      await tx.query(insertStatement, [tenantId, id, functionName, sealed, now]);
    });
    this.#cached.delete(tenantId);
    const row = { id, function_name: functionName, sealed, created_at: now, expires_at: null };
    return { ...toCallbackSecret(row), secret: `whsec_${value}` };
  }

  async remove(tenantId: TenantId, secretId: string): Promise<void> {
    const rows = await this.#options.database.query(deleteStatement, [tenantId, secretId]);
    this.#cached.delete(tenantId);
    if (rows.length === 0) throw callbackSecretNotFound({ secretId });
  }

  /** Returns the keys that sign results of a function, newest first: its own, or those of the tenant. */
  async keysOf(tenantId: TenantId, functionName: string): Promise<readonly Buffer[]> {
    const { clock } = this.#options;
    const known = this.#cached.get(tenantId);
    const isFresh = known !== undefined && clock.monotonicMs() - known.readAtMs < cachedMs;
    const { byFunction } = isFresh ? known : await this.#refresh(tenantId);
    const active = (name: string): Buffer[] =>
      (byFunction.get(name) ?? []).flatMap(({ key, expiresAt }) => (expiresAt > clock.now() ? [key] : []));
    const own = active(functionName);
    return (own.length > 0 ? own : active('')).slice(0, maxKeys);
  }

  async #refresh(tenantId: TenantId): Promise<TenantKeys> {
    const { cipher, clock } = this.#options;
    const byFunction = new Map<string, { key: Buffer; expiresAt: number }[]>();
    for (const { id, function_name: name, sealed, expires_at: expiresAt } of await this.#read(tenantId)) {
      const value = cipher.open(ownerOf(tenantId, id), sealed).get('value') ?? '';
      const key = { key: Buffer.from(value, 'base64'), expiresAt: expiresAt?.getTime() ?? Infinity };
      byFunction.set(name, [...(byFunction.get(name) ?? []), key]);
    }
    const read = { readAtMs: clock.monotonicMs(), byFunction };
    if (this.#cached.size >= maxTenants) this.#cached.clear();
    this.#cached.set(tenantId, read);
    return read;
  }

  #read(tenantId: TenantId): Promise<SecretRow[]> {
    const { database, clock } = this.#options;
    return database.query<SecretRow>(listStatement, [tenantId, new Date(clock.now())]);
  }
}

/** Names of functions have no slash: no variables of a function are sealed under this name. */
function ownerOf(tenantId: TenantId, id: string): EnvOwner {
  return { tenantId, name: `callback-secret/${id}`, generation: 0 };
}

function toCallbackSecret({
  id,
  function_name: name,
  created_at: createdAt,
  expires_at: expiresAt,
}: SecretRow): CallbackSecret {
  return {
    id,
    ...(name !== '' && { function: name }),
    createdAt: createdAt.toISOString(),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
  };
}
