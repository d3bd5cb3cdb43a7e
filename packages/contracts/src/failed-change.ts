import Type, { type Static } from 'typebox';
import { CollectionName } from './collection.js';
import { literalUnion } from './literal-union.js';
import { recordChangeKinds } from './webhook.js';

const FailedChangeId = Type.String({ pattern: '^\\d{1,15}$' });

/** A change of a record that the function of a collectionTrigger gave up after too many deliveries. */
export const FailedChangeView = Type.Object({
  id: FailedChangeId,
  state: literalUnion(['failed', 'replaying'], { description: '`replaying`: it waits to be delivered again, or runs' }),
  application: Type.String(),
  function: Type.String(),
  collection: CollectionName,
  recordId: Type.String({ format: 'uuid' }),
  position: Type.String({ description: 'Of the change' }),
  kind: literalUnion(recordChangeKinds),
  reason: Type.String({ description: 'Why the function was not delivered the change again' }),
  deliveries: Type.Integer({ description: 'How often the function ran for it' }),
  failedAt: Type.String({ format: 'date-time' }),
});
export type FailedChangeView = Static<typeof FailedChangeView>;

export const ShownFailedChange = Type.Intersect([
  FailedChangeView,
  Type.Object({ change: Type.Unknown({ description: 'As the function got it, with the record before and after' }) }),
]);

const selection = {
  collection: Type.Optional(CollectionName),
  application: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  function: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
};

export const FailedChangeQuery = Type.Object(
  {
    ...selection,
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
    before: Type.Optional(FailedChangeId),
  },
  { additionalProperties: false },
);

/** All given properties must match. */
export const FailedChangesChosen = Type.Object(
  {
    ...selection,
    ids: Type.Optional(Type.Array(FailedChangeId, { minItems: 1, maxItems: 1_000 })),
    all: Type.Optional(Type.Literal(true, { description: 'All that your key may write' })),
  },
  { additionalProperties: false, minProperties: 1 },
);
export type FailedChangesChosen = Static<typeof FailedChangesChosen>;

export const ByFailedChange = Type.Object({ failedChangeId: FailedChangeId });
