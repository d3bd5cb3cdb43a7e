import Type, { type Static } from 'typebox';
import { CollectionName } from './collection.js';
import { literalUnion } from './literal-union.js';

export const recordChangeKinds = ['created', 'updated', 'deleted', 'restored'] as const;

const instant = (description: string) => Type.String({ format: 'date-time', description });
const Url = Type.String({ minLength: 1, maxLength: 2_048, description: 'http or https; changes are posted to it' });
const Events = Type.Array(literalUnion(recordChangeKinds), {
  minItems: 1,
  uniqueItems: true,
  description: 'Kinds of changes that are sent; all by default',
});

/** What is sent where when records change. */
export const RecordWebhook = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    collection: CollectionName,
    url: Url,
    events: Events,
    active: Type.Boolean({ description: 'Whether changes are sent; those of the time in between are not' }),
    createdAt: instant('When it was created'),
    createdBy: Type.String({ description: 'Id of the API key' }),
    formerSecretUntil: Type.Optional(instant('Until then the secret before the current one signs as well')),
  },
  { $id: 'RecordWebhook' },
);
export type RecordWebhook = Static<typeof RecordWebhook>;

export const NewWebhook = Type.Object(
  { collection: CollectionName, url: Url, events: Type.Optional(Events) },
  { additionalProperties: false },
);
export type NewWebhook = Static<typeof NewWebhook>;

export const WebhookChange = Type.Object(
  { url: Type.Optional(Url), events: Type.Optional(Events), active: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);
export type WebhookChange = Static<typeof WebhookChange>;

export const WebhookRotation = Type.Object(
  {
    overlapMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_592_000_000,
        default: 86_400_000,
        description: 'How long the former secret signs as well; 0 if it is known to others',
      }),
    ),
  },
  { additionalProperties: false },
);

export const webhookDeliveryStates = ['waiting', 'delivered', 'failed'] as const;

/** One change for one webhook. */
export const WebhookDelivery = Type.Object({
  position: Type.String({ description: 'Of the change; `webhook-id` of the request ends with it' }),
  recordId: Type.String({ format: 'uuid' }),
  state: literalUnion(webhookDeliveryStates),
  attempts: Type.Integer({ description: 'Requests that were sent' }),
  problem: Type.Optional(Type.String({ description: 'Why the last attempt failed' })),
  dueAt: Type.Optional(instant('When it is sent next')),
  attemptedAt: Type.Optional(instant('When it was sent last')),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;
