import Type from 'typebox';
import { literalUnion } from '../literal-union.js';
import {
  NewWebhook,
  RecordWebhook,
  WebhookChange,
  WebhookDelivery,
  webhookDeliveryStates,
  WebhookRotation,
} from '../webhook.js';
import { defineRoute } from './route.js';

const ByWebhook = Type.Object({ webhookId: Type.String({ format: 'uuid' }) });
const Position = Type.String({ pattern: '^\\d{1,15}$' });
const theWebhook = { 200: { about: 'The webhook', schema: RecordWebhook } };

const secretWebhook = {
  about: 'The webhook, and the secret of its signatures, which cannot be read again',
  schema: Type.Intersect([RecordWebhook, Type.Object({ secret: Type.String() })]),
};

/** Webhooks post changes of records to other systems. They need the right to define the collection, and to read its records. */
export const webhookRoutes = {
  listWebhooks: defineRoute({
    id: 'listWebhooks',
    method: 'GET',
    path: '/control/webhooks',
    about: 'Lists the webhooks of your tenant',
    access: 'collections:define',
    responses: { 200: { about: 'All webhooks', schema: Type.Object({ webhooks: Type.Array(RecordWebhook) }) } },
  }),
  createWebhook: defineRoute({
    id: 'createWebhook',
    method: 'POST',
    path: '/control/webhooks',
    about: 'Sends changes of records of a collection to a URL, from now on, signed as in Standard Webhooks',
    access: 'collections:define',
    body: NewWebhook,
    responses: { 201: secretWebhook },
  }),
  getWebhook: defineRoute({
    id: 'getWebhook',
    method: 'GET',
    path: '/control/webhooks/{webhookId}',
    about: 'Returns a webhook',
    access: 'collections:define',
    params: ByWebhook,
    responses: theWebhook,
  }),
  changeWebhook: defineRoute({
    id: 'changeWebhook',
    method: 'PATCH',
    path: '/control/webhooks/{webhookId}',
    about: 'Changes the URL or the kinds of changes of a webhook, or switches it off or on',
    access: 'collections:define',
    params: ByWebhook,
    body: WebhookChange,
    responses: theWebhook,
  }),
  deleteWebhook: defineRoute({
    id: 'deleteWebhook',
    method: 'DELETE',
    path: '/control/webhooks/{webhookId}',
    about: 'Removes a webhook with its deliveries',
    access: 'collections:define',
    params: ByWebhook,
    responses: { 204: { about: 'Removed' } },
  }),
  rotateWebhookSecret: defineRoute({
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: '/control/webhooks/{webhookId}/secret',
    about:
      'Gives a webhook a new secret. For a time each request has the signatures of both, so receivers can change at any moment',
    access: 'collections:define',
    params: ByWebhook,
    body: WebhookRotation,
    responses: { 200: secretWebhook },
  }),
  listWebhookDeliveries: defineRoute({
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: '/control/webhooks/{webhookId}/deliveries',
    about: 'Lists the deliveries of a webhook, the newest first. They are kept for a week',
    access: 'collections:define',
    params: ByWebhook,
    query: Type.Object(
      {
        state: Type.Optional(literalUnion(webhookDeliveryStates)),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
        before: Type.Optional(Position),
      },
      { additionalProperties: false },
    ),
    responses: {
      200: {
        about: 'One page; `next` is `before` of the page after it',
        schema: Type.Object({ deliveries: Type.Array(WebhookDelivery), next: Type.Optional(Type.String()) }),
      },
    },
  }),
  retryWebhookDelivery: defineRoute({
    id: 'retryWebhookDelivery',
    method: 'POST',
    path: '/control/webhooks/{webhookId}/deliveries/{position}/retry',
    about: 'Sends a change again at once, also one that was delivered or has failed',
    access: 'collections:define',
    params: Type.Object({ webhookId: Type.String({ format: 'uuid' }), position: Position }),
    responses: { 202: { about: 'It will be sent' } },
  }),
};
