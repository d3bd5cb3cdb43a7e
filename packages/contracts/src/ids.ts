declare const brand: unique symbol;

/** A string that only the right parser makes: two kinds of id never mix. */
export type Id<Kind extends string> = string & { readonly [brand]: Kind };

export type TenantId = Id<'tenant'>;
export type ApiKeyId = Id<'api-key'>;

/** Owner of everything on a platform that has only one tenant. */
export const defaultTenantId = 'default' as TenantId; // the one tenant that exists without having been created
