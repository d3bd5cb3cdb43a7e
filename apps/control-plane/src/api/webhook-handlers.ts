import {
  accessDenied,
  compileCollection,
  eventsSwitchedOff,
  type Caller,
  type RecordEventTail,
} from '@drover/collection-engine';
import { holdsScope, webhookRoutes, type RecordWebhook } from '@drover/contracts';
import { endpointRefused, type EndpointGuard } from '@drover/dispatchers';
import type { CollectionDefinitions } from '../collections/collection-definitions.js';
import { handle, reply, type RouteHandler } from '../http/route-handler.js';
import { webhookNotFound } from '../webhooks/errors.js';
import type { WebhookSender } from '../webhooks/webhook-sender.js';
import type { WebhookStore } from '../webhooks/webhook-store.js';

export interface WebhookHandlersOptions {
  readonly store: WebhookStore;
  readonly sender: Pick<WebhookSender, 'wake'>;
  readonly definitions: Pick<CollectionDefinitions, 'get'>;
  readonly tail: Pick<RecordEventTail, 'position'>;
  readonly guard: EndpointGuard;
}

/** Serves webhooks. Records leave the platform through them, so a key must be allowed to read the records, too. */
export function webhookHandlers(options: WebhookHandlersOptions): RouteHandler[] {
  return [...definingHandlers(options), ...deliveryHandlers(options)];
}

function definingHandlers({ store, sender, definitions, tail, guard }: WebhookHandlersOptions): RouteHandler[] {
  const requireUrl = async (url: string | undefined): Promise<void> => {
    const problem = url === undefined ? undefined : await guard.problemOf(url);
    if (problem !== undefined) throw endpointRefused({ problem });
  };
  return [
    handle(webhookRoutes.listWebhooks, async ({ caller }) =>
      reply(200, { webhooks: (await store.list(caller.tenantId)).filter((webhook) => isAllowed(caller, webhook)) }),
    ),
    handle(webhookRoutes.createWebhook, async ({ caller, body }) => {
      if (!isAllowed(caller, body))
        throw accessDenied({ scope: `collections:define:${body.collection} and records:read:${body.collection}` });
      const collection = await definitions.get(caller, body.collection);
      if (!compileCollection(collection).hasEvents) throw eventsSwitchedOff({ collection: body.collection });
      await requireUrl(body.url);
      const place = { collectionId: collection.id, fromPosition: await tail.position() };
      const created = await store.create(caller, body, place);
      sender.wake();
      return reply(201, created);
    }),
    handle(webhookRoutes.getWebhook, async ({ caller, params }) => reply(200, await find(store, caller, params))),
    handle(webhookRoutes.changeWebhook, async ({ caller, params, body }) => {
      await find(store, caller, params);
      await requireUrl(body.url);
      const changed = await store.change(caller.tenantId, params.webhookId, body, await tail.position());
      sender.wake();
      return reply(200, changed);
    }),
    handle(webhookRoutes.rotateWebhookSecret, async ({ caller, params, body: { overlapMs = 86_400_000 } }) => {
      await find(store, caller, params);
      return reply(200, await store.rotate(caller.tenantId, params.webhookId, overlapMs));
    }),
    handle(webhookRoutes.deleteWebhook, async ({ caller, params }) => {
      await find(store, caller, params);
      await store.remove(caller.tenantId, params.webhookId);
      return reply(204, undefined);
    }),
  ];
}

function deliveryHandlers({ store, sender }: WebhookHandlersOptions): RouteHandler[] {
  return [
    handle(webhookRoutes.listWebhookDeliveries, async ({ caller, params, query }) => {
      await find(store, caller, params);
      const { limit = 50, state, before } = query;
      const page = { before: before === undefined ? Number.MAX_SAFE_INTEGER : Number(before), state, limit };
      const deliveries = await store.deliveries(params.webhookId, page);
      const last = deliveries.length === limit ? deliveries.at(-1)?.position : undefined;
      return reply(200, { deliveries, ...(last !== undefined && { next: last }) });
    }),
    handle(webhookRoutes.retryWebhookDelivery, async ({ caller, params }) => {
      await find(store, caller, params);
      await store.retry(params.webhookId, params.position);
      sender.wake();
      return reply(202, undefined);
    }),
  ];
}

async function find(
  store: WebhookStore,
  caller: Caller,
  { webhookId }: { readonly webhookId: string },
): Promise<RecordWebhook> {
  const webhook = await store.find(caller.tenantId, webhookId);
  if (!isAllowed(caller, webhook)) throw webhookNotFound({ webhookId });
  return webhook;
}

function isAllowed({ scopes }: Caller, { collection }: { readonly collection: string }): boolean {
  return holdsScope(scopes, 'collections:define', collection) && holdsScope(scopes, 'records:read', collection);
}
