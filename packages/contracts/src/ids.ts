declare const brand: unique symbol;

/** A branded string: ids of different kinds are not assignable to each other. */
export type Id<Kind extends string> = string & { readonly [brand]: Kind };

export type TenantId = Id<'tenant'>;
export type ApiKeyId = Id<'api-key'>;

/** The tenant of a platform that has only one. */
export const defaultTenantId = 'default' as TenantId; // exists without being created
