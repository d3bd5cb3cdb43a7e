import Type, { type Static } from 'typebox';
import { collectionNamePattern } from './collection.js';

export const scopes = [
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
  'workers:join',
  'workers:manage',
] as const;

/** The scopes that can be limited to one collection: `records:read:orders`. Names of collections have no colon. */
export const collectionScopes = ['collections:define', 'records:read', 'records:write'] as const;
export type CollectionScope = (typeof collectionScopes)[number];

const limitedScopePattern = `^(?:${collectionScopes.join('|')}):${collectionNamePattern}$`;

export type Scope = (typeof scopes)[number] | `${CollectionScope}:${string}`;
export const Scope = Type.Unsafe<Scope>(
  Type.Union(
    [
      ...scopes.map((scope) => Type.Literal(scope)),
      Type.String({
        maxLength: 100,
        pattern: limitedScopePattern,
        description: 'The same for one collection: `records:read:orders`',
      }),
    ],
    { description: 'Permission of an API key' },
  ),
);

export function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text) || new RegExp(limitedScopePattern, 'u').test(text);
}

/** Whether a key with the scopes `held` has `scope`, for `collection` or, without it, for at least one collection. */
export function holdsScope(held: readonly Scope[], scope: Scope, collection?: string): boolean {
  if (held.includes(scope)) return true;
  if (collection === undefined) return held.some((one) => one.startsWith(`${scope}:`));
  return held.some((one) => one === `${scope}:${collection}`);
}

/** Whether a key with the scopes `held` may create a key with `scope`: it has that scope itself, or the unlimited form of it. */
export function mayGrantScope(held: readonly Scope[], scope: Scope): boolean {
  const unlimited = collectionScopes.find((one) => scope.startsWith(`${one}:`));
  return held.includes(scope) || (unlimited !== undefined && held.includes(unlimited));
}

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
    scopes: Type.Array(Scope, { minItems: 1, maxItems: 200, uniqueItems: true }),
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

const apiKeyHeader = /^bearer\s+drv_/i;

/** Whether an `Authorization` header has a key of the platform, valid or not: such a request may be about records. */
export function bearsApiKey(authorization: string | undefined): boolean {
  return authorization !== undefined && apiKeyHeader.test(authorization);
}
