import Type, { type Static } from 'typebox';
import { FunctionName } from './function.js';

/** A secret that signs results posted to callback URLs, as Standard Webhooks defines. */
export const CallbackSecret = Type.Object(
  {
    id: Type.String(),
    function: Type.Optional(Type.String({ description: 'The function whose results it signs; absent: all others' })),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'Set when a newer secret has replaced it; it signs until then' }),
    ),
  },
  { $id: 'CallbackSecret' },
);
export type CallbackSecret = Static<typeof CallbackSecret>;

export const NewCallbackSecret = Type.Object(
  {
    function: Type.Optional(FunctionName),
    overlapMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_592_000_000,
        default: 86_400_000,
        description: 'How long the secrets that it replaces sign as well',
      }),
    ),
  },
  { additionalProperties: false, $id: 'NewCallbackSecret' },
);
export type NewCallbackSecret = Static<typeof NewCallbackSecret>;

export const CreatedCallbackSecret = Type.Object(
  {
    ...CallbackSecret.properties,
    secret: Type.String({ description: 'whsec_ and the key in base64; shown only once' }),
  },
  { $id: 'CreatedCallbackSecret' },
);
