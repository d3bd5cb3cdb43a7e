import Type, { type Static } from 'typebox';

export const Scope = Type.Union(
  [
    Type.Literal('control:read'),
    Type.Literal('control:write'),
    Type.Literal('functions:read'),
    Type.Literal('functions:write'),
    Type.Literal('functions:invoke'),
  ],
  { description: 'What a key is good for' },
);
export type Scope = Static<typeof Scope>;
export const scopes: readonly Scope[] = [
  'control:read',
  'control:write',
  'functions:read',
  'functions:write',
  'functions:invoke',
];

const instant = (description: string) => Type.String({ format: 'date-time', description });

/** A key as everybody but its holder sees it. */
export const ApiKey = Type.Object(
  {
    id: Type.String({ description: 'The part of the key between its underscores' }),
    tenantId: Type.String(),
    name: Type.String({ description: 'What people call it' }),
    scopes: Type.Array(Scope),
    createdAt: instant('When it was made'),
    expiresAt: Type.Optional(instant('When it ends to be good')),
    lastUsedAt: Type.Optional(instant('When it was last accepted, to the minute')),
  },
  { $id: 'ApiKey' },
);
export type ApiKey = Static<typeof ApiKey>;

export const NewApiKey = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      // Names end up on terminals, and PostgreSQL has no place for NUL.
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
      description: 'What people call it; without control characters',
    }),
    scopes: Type.Array(Scope, { minItems: 1, maxItems: scopes.length, uniqueItems: true }),
    expiresAt: Type.Optional(instant('When it ends to be good; absent: never')),
  },
  { additionalProperties: false },
);
export type NewApiKey = Static<typeof NewApiKey>;

/** The answer that shows the key itself, once. */
export const CreatedApiKey = Type.Object({ key: ApiKey, secret: Type.String({ description: 'Shown once: keep it' }) });
export type CreatedApiKey = Static<typeof CreatedApiKey>;
