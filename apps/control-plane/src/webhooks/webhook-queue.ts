import { changeJson, compileCollection, type RecordEvent } from '@drover/collection-engine';
import type { CollectionDefinition } from '@drover/contracts';
import { prepared, type Queryable } from '@drover/database';

/** A change that is to be posted now. */
export interface DueDelivery {
  readonly webhookId: string;
  readonly tenantId: string;
  readonly url: string;
  /** Secrets that sign it: the current one, and the former one for a while. */
  readonly sealed: readonly Buffer[];
  readonly position: number;
  /** This one included. */
  readonly attempts: number;
  /** Undefined if retention has removed the change. */
  readonly body: string | undefined;
}

interface DueRow {
  readonly webhook_id: string;
  readonly tenant_id: string;
  readonly url: string;
  readonly sealed: readonly Buffer[];
  readonly event_id: number;
  readonly attempts: number;
  readonly collection_id: string;
  readonly definition: CollectionDefinition;
  readonly kind: RecordEvent['kind'] | null;
  readonly record_id: string;
  readonly version: number;
  readonly before: string | null;
  readonly after: string | null;
  readonly actor: string;
  readonly at: Date;
}

/** Positions that one statement covers: a backlog of days is worked off in steps. */
const stepSize = 10_000;
/** A sender that was killed loses its deliveries to others after this time. It is longer than any request. */
const claimSeconds = 60;
const keptDays = 7;

const anyStatement = prepared('webhook-any', `select exists (select from drover.webhooks where active) as found`);
// The lock on the row of the cursor keeps other replicas out; the rows and the new position are written together.
const fanOutStatement = prepared(
  'webhook-fan-out',
  `with cursor as (
     select position from drover.webhook_cursor for update
   ), step as (
     select position as after, least($1, position + ${stepSize}) as up_to from cursor
   ), made as (
     insert into drover.webhook_deliveries (webhook_id, event_id, record_id)
     select webhook.id, event.id, event.record_id
     from step, drover.webhooks webhook, drover.record_events event
     where webhook.active and event.collection_id = webhook.collection_id and event.kind = any (webhook.kinds)
       and event.id > greatest(step.after, webhook.from_position) and event.id <= step.up_to
     on conflict do nothing
   ), moved as (
     update drover.webhook_cursor set position = (select up_to from step) where position < (select up_to from step)
   )
   select up_to from step`,
);
// A change waits for the earlier ones of its record, so that a receiver gets them in their order. Each webhook has a share of its own:
// the deliveries of a receiver that does not answer must not take the places of all others.
const claimStatement = prepared(
  'webhook-claim',
  `with due as (
     select delivery.webhook_id, delivery.event_id
     from drover.webhooks webhook
     left join unnest($2::uuid[], $3::integer[]) as busy (id, deliveries) on busy.id = webhook.id
     cross join lateral (
       select webhook_id, event_id, due_at from drover.webhook_deliveries waiting
       where webhook_id = webhook.id and state = 'waiting' and due_at <= now() and not exists (
         select from drover.webhook_deliveries earlier
         where earlier.webhook_id = waiting.webhook_id and earlier.record_id = waiting.record_id
           and earlier.event_id < waiting.event_id and earlier.state = 'waiting'
       )
       order by due_at limit greatest(0, $4 - coalesce(busy.deliveries, 0)) for update skip locked
     ) delivery
     where webhook.active
     order by delivery.due_at limit $1
   ), claimed as (
     update drover.webhook_deliveries delivery
     set due_at = now() + interval '${claimSeconds} seconds', attempted_at = now(), attempts = attempts + 1
     from due where delivery.webhook_id = due.webhook_id and delivery.event_id = due.event_id
     returning delivery.webhook_id, delivery.event_id, delivery.record_id, delivery.attempts
   )
   select claimed.*, webhook.tenant_id, webhook.url, webhook.collection_id,
     array_remove(array[webhook.sealed, case when webhook.former_until > now() then webhook.former_sealed end], null) as sealed,
     current.definition, event.kind,
     event.version, event.before::text as before, event.after::text as after, event.actor, event.at
   from claimed
   join drover.webhooks webhook on webhook.id = claimed.webhook_id
   join drover.collections collection on collection.id = webhook.collection_id
   join drover.collection_versions current on current.collection_id = collection.id and current.version = collection.version
   left join drover.record_events event on event.id = claimed.event_id`,
);
const endStatement = prepared(
  'webhook-end',
  `update drover.webhook_deliveries set state = $3, problem = $4, due_at = now() + $5 * interval '1 millisecond'
   where webhook_id = $1 and event_id = $2`,
);
const sweepStatement = prepared(
  'webhook-sweep',
  `delete from drover.webhook_deliveries where (webhook_id, event_id) in (
     select webhook_id, event_id from drover.webhook_deliveries
     where state <> 'waiting' and attempted_at < now() - interval '${keptDays} days' limit 5000
   )`,
);

/** The deliveries of all webhooks in PostgreSQL, which all replicas of the control plane share. */
export class WebhookQueue {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  async hasWebhooks(): Promise<boolean> {
    const [row] = await this.#database.query<{ found: boolean }>(anyStatement);
    return row?.found === true;
  }

  /** Makes the deliveries of all changes up to a position. */
  async fanOut(position: number): Promise<void> {
    for (let reached = -1; reached < position; ) {
      const [row] = await this.#database.query<{ up_to: number }>(fanOutStatement, [position]);
      reached = row?.up_to ?? position;
    }
  }

  /** Claims deliveries that are due. `inFlight` is how many this process sends, by webhook; none gets more than `perWebhook`. */
  async claim(limit: number, perWebhook: number, inFlight: ReadonlyMap<string, number>): Promise<DueDelivery[]> {
    const values = [limit, [...inFlight.keys()], [...inFlight.values()], perWebhook];
    return (await this.#database.query<DueRow>(claimStatement, values)).map(toDue);
  }

  async end({ webhookId, position }: DueDelivery, state: 'delivered' | 'failed', problem?: string): Promise<void> {
    await this.#database.query(endStatement, [webhookId, position, state, problem ?? null, 0]);
  }

  async postpone({ webhookId, position }: DueDelivery, problem: string, delayMs: number): Promise<void> {
    await this.#database.query(endStatement, [webhookId, position, 'waiting', problem, delayMs]);
  }

  async sweep(): Promise<void> {
    await this.#database.query(sweepStatement);
  }
}

function toDue(row: DueRow): DueDelivery {
  return {
    webhookId: row.webhook_id,
    tenantId: row.tenant_id,
    url: row.url,
    sealed: row.sealed,
    position: row.event_id,
    attempts: row.attempts,
    body: row.kind === null ? undefined : bodyOf(row, row.kind),
  };
}

/** The payload of Standard Webhooks: type, timestamp and data. */
function bodyOf(row: DueRow, kind: RecordEvent['kind']): string {
  const { collection_id: collectionId, tenant_id: tenantId, definition, at } = row;
  const collection = compileCollection({
    id: collectionId,
    tenantId,
    version: 0,
    definition,
    table: '',
    columns: {},
  });
  const change = changeJson(collection, {
    id: row.event_id,
    tenantId,
    collectionId,
    recordId: row.record_id,
    version: row.version,
    kind,
    before: row.before ?? undefined,
    after: row.after ?? undefined,
    actor: row.actor,
    at,
  });
  const type = JSON.stringify(`${definition.name}.${kind}`);
  return `{"type":${type},"timestamp":"${at.toISOString()}","data":${change}}`;
}
