import type { NewWebhook, RecordWebhook, WebhookChange, WebhookDelivery } from '@drover/contracts';
import { prepared, type Database } from '@drover/database';
import type { Randomness } from '@drover/service-kit';
import type { EnvCipher, EnvOwner } from '../functions/env-cipher.js';
import { webhookDeliveryNotFound, webhookNeedsKey, webhookNotFound, webhookQuotaExceeded } from './errors.js';

export interface WebhookStoreOptions {
  readonly database: Database;
  readonly cipher: EnvCipher;
  readonly randomness: Pick<Randomness, 'bytes' | 'uuid'>;
}

interface WebhookRow {
  readonly id: string;
  readonly collection: string;
  readonly url: string;
  readonly kinds: RecordWebhook['events'];
  readonly active: boolean;
  readonly created_at: Date;
  readonly created_by: string;
  readonly former_until: Date | null;
}

interface DeliveryRow {
  readonly event_id: number;
  readonly record_id: string;
  readonly state: WebhookDelivery['state'];
  readonly attempts: number;
  readonly due_at: Date;
  readonly attempted_at: Date | null;
  readonly problem: string | null;
}

const keyBytes = 32;
const maxWebhooks = 100;
const allKinds: RecordWebhook['events'] = ['created', 'updated', 'deleted', 'restored'];

const columns = `w.id, c.name as collection, w.url, w.kinds, w.active, w.created_at, w.created_by,
     case when w.former_until > now() then w.former_until end as former_until
   from drover.webhooks w join drover.collections c on c.id = w.collection_id`;
const listStatement = prepared('webhook-list', `select ${columns} where w.tenant_id = $1 order by w.created_at, w.id`);
const findStatement = prepared('webhook-find', `select ${columns} where w.tenant_id = $1 and w.id = $2`);
// While no webhook is active no deliveries are made, and the cursor stands still: it continues where the first one starts.
const insertStatement = prepared(
  'webhook-insert',
  `with cursor as (
     update drover.webhook_cursor set position = greatest(position, $7)
     where not exists (select from drover.webhooks where active)
   )
   insert into drover.webhooks (id, tenant_id, collection_id, url, kinds, sealed, from_position, created_by)
   select $1, $2, $3, $4, $5, $6, $7, $8
   where (select count(*) from drover.webhooks where tenant_id = $2) < ${maxWebhooks}
   returning id`,
);
const changeStatement = prepared(
  'webhook-change',
  `update drover.webhooks set url = coalesce($3, url), kinds = coalesce($4, kinds), active = coalesce($5, active),
     from_position = case when $5 and not active then $6 else from_position end
   where tenant_id = $1 and id = $2 returning id`,
);
const rotateStatement = prepared(
  'webhook-rotate',
  `update drover.webhooks set former_sealed = case when $4 > 0 then sealed end,
     former_until = now() + $4 * interval '1 millisecond', sealed = $3
   where tenant_id = $1 and id = $2`,
);
const removeStatement = prepared('webhook-remove', `delete from drover.webhooks where tenant_id = $1 and id = $2`);
const deliveriesStatement = prepared(
  'webhook-deliveries',
  `select event_id, record_id, state, attempts, due_at, attempted_at, problem from drover.webhook_deliveries
   where webhook_id = $1 and event_id < $2 and ($3::text is null or state = $3) order by event_id desc limit $4`,
);
const retryStatement = prepared(
  'webhook-retry',
  `update drover.webhook_deliveries set state = 'waiting', due_at = now(), attempts = 0
   where webhook_id = $1 and event_id = $2 returning event_id`,
);

/** The webhooks of tenants, with their secrets encrypted, and the log of their deliveries. */
export class WebhookStore {
  readonly #options: WebhookStoreOptions;

  constructor(options: WebhookStoreOptions) {
    this.#options = options;
  }

  async list(tenantId: string): Promise<RecordWebhook[]> {
    return (await this.#options.database.query<WebhookRow>(listStatement, [tenantId])).map(toWebhook);
  }

  /** Throws WEBHOOK_NOT_FOUND. */
  async find(tenantId: string, webhookId: string): Promise<RecordWebhook> {
    const [row] = await this.#options.database.query<WebhookRow>(findStatement, [tenantId, webhookId]);
    if (!row) throw webhookNotFound({ webhookId });
    return toWebhook(row);
  }

  /** Returns the webhook with its secret, which cannot be read again. It sends changes after `fromPosition`. */
  async create(
    { tenantId, keyId }: { readonly tenantId: string; readonly keyId: string },
    { url, events = allKinds }: NewWebhook,
    { collectionId, fromPosition }: { readonly collectionId: string; readonly fromPosition: number },
  ): Promise<RecordWebhook & { readonly secret: string }> {
    const { database, randomness } = this.#options;
    const id = randomness.uuid();
    const { secret, sealed } = this.#newSecret(tenantId, id);
    const values = [id, tenantId, collectionId, url, events, sealed, fromPosition, keyId];
    if ((await database.query(insertStatement, values)).length === 0)
      throw webhookQuotaExceeded({ limit: maxWebhooks });
    return { ...(await this.find(tenantId, id)), secret };
  }

  /** Returns the webhook with a new secret, which cannot be read again. The one before signs as well for `overlapMs`. */
  async rotate(
    tenantId: string,
    webhookId: string,
    overlapMs: number,
  ): Promise<RecordWebhook & { readonly secret: string }> {
    const { secret, sealed } = this.#newSecret(tenantId, webhookId);
    await this.#options.database.query(rotateStatement, [tenantId, webhookId, sealed, overlapMs]);
    return { ...(await this.find(tenantId, webhookId)), secret };
  }

  async change(tenantId: string, webhookId: string, change: WebhookChange, position: number): Promise<RecordWebhook> {
    const { url = null, events = null, active = null } = change;
    const values = [tenantId, webhookId, url, events, active, position];
    await this.#options.database.query(changeStatement, values);
    return this.find(tenantId, webhookId);
  }

  async remove(tenantId: string, webhookId: string): Promise<void> {
    await this.#options.database.query(removeStatement, [tenantId, webhookId]);
  }

  /** Returns deliveries before a position, the newest first. */
  async deliveries(
    webhookId: string,
    page: { readonly before: number; readonly state: WebhookDelivery['state'] | undefined; readonly limit: number },
  ): Promise<WebhookDelivery[]> {
    const values = [webhookId, page.before, page.state ?? null, page.limit];
    return (await this.#options.database.query<DeliveryRow>(deliveriesStatement, values)).map(toDelivery);
  }

  async retry(webhookId: string, position: string): Promise<void> {
    const rows = await this.#options.database.query(retryStatement, [webhookId, Number(position)]);
    if (rows.length === 0) throw webhookDeliveryNotFound({ webhookId, position });
  }

  #newSecret(tenantId: string, webhookId: string): { readonly secret: string; readonly sealed: Buffer } {
    const { cipher, randomness } = this.#options;
    if (!cipher.hasKey) throw webhookNeedsKey({});
    const value = randomness.bytes(keyBytes).toString('base64');
    return { secret: `whsec_${value}`, sealed: cipher.seal(secretOwner(tenantId, webhookId), { value }) };
  }
}

/** Names of functions have no slash: no variables of a function are sealed under this name. */
export function secretOwner(tenantId: string, webhookId: string): EnvOwner {
  return { tenantId, name: `webhook/${webhookId}`, generation: 0 } as EnvOwner; // a tenant of an authenticated caller
}

function toWebhook(row: WebhookRow): RecordWebhook {
  const { id, collection, url, kinds, active, created_at: createdAt, created_by: createdBy } = row;
  const webhook = { id, collection, url, events: kinds, active, createdAt: createdAt.toISOString(), createdBy };
  return row.former_until ? { ...webhook, formerSecretUntil: row.former_until.toISOString() } : webhook;
}

function toDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    position: String(row.event_id),
    recordId: row.record_id,
    state: row.state,
    attempts: row.attempts,
    ...(row.problem !== null && { problem: row.problem }),
    ...(row.state === 'waiting' && { dueAt: row.due_at.toISOString() }),
    ...(row.attempted_at && { attemptedAt: row.attempted_at.toISOString() }),
  };
}
