import Type, { type Static } from 'typebox';

export const Scope = Type.Union(
  [
    Type.Literal('control:read'),
    Type.Literal('control:write'),
    Type.Literal('functions:read'),
    Type.Literal('functions:write'),
    Type.Literal('functions:commands'),
    Type.Literal('functions:invoke'),
    Type.Literal('apps:read'),
    Type.Literal('apps:write'),
    Type.Literal('collections:define'),
    Type.Literal('records:read'),
    Type.Literal('records:write'),
  ],
  { description: 'Permission of an API key' },
);
export type Scope = Static<typeof Scope>;
export const scopes: readonly Scope[] = [
  'control:read',
  'control:write',
  'functions:read',
  'functions:write',
  'functions:commands',
  'functions:invoke',
  'apps:read',
  'apps:write',
  'collections:define',
  'records:read',
  'records:write',
];

const instant = (description: string) => Type.String({ format: 'date-time', description });

/** An API key without its secret. */
export const ApiKey = Type.Object(
  {
    id: Type.String({ description: 'Identifier: the part of the key between the underscores' }),
    tenantId: Type.String(),
    name: Type.String({ description: 'Display name' }),
    scopes: Type.Array(Scope),
    createdAt: instant('Time of creation'),
    expiresAt: Type.Optional(instant('Time of expiry')),
    lastUsedAt: Type.Optional(instant('Time of the last use, to the minute')),
  },
  { $id: 'ApiKey' },
);
export type ApiKey = Static<typeof ApiKey>;

export const NewApiKey = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      // Names are shown on terminals, and PostgreSQL cannot store NUL.
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
      description: 'Display name, without control characters',
    }),
    scopes: Type.Array(Scope, { minItems: 1, maxItems: scopes.length, uniqueItems: true }),
    expiresAt: Type.Optional(instant('Time of expiry; absent: never')),
  },
  { additionalProperties: false },
);
export type NewApiKey = Static<typeof NewApiKey>;

/** A new API key with its secret, which is shown only once. */
export const CreatedApiKey = Type.Object({
  key: ApiKey,
  secret: Type.String({ description: 'The whole key; shown only once' }),
});
export type CreatedApiKey = Static<typeof CreatedApiKey>;
