import { RpcHttpCookieSameSite, type RpcHttpCookieInit } from '@drover/function-rpc';
import { SystemError } from '../loading/system-errors.js';

const sameSites: Readonly<Record<string, number>> = {
  lax: RpcHttpCookieSameSite.Lax,
  strict: RpcHttpCookieSameSite.Strict,
  none: RpcHttpCookieSameSite.ExplicitNone,
};

/** Converts a cookie that a function set, in any programming model. */
export function toRpcCookie(cookie: unknown): RpcHttpCookieInit {
  const given: Readonly<Record<string, unknown>> = { ...(cookie as object) }; // spreads anything
  const { name, value, domain, path, expires, secure, httpOnly, sameSite, maxAge } = given;
  return {
    name: typed('string', name, 'name') ?? '',
    value: typed('string', value, 'value') ?? '',
    domain: nullable(typed('string', domain, 'domain')),
    path: nullable(typed('string', path, 'path')),
    expires: toTimestamp(expires),
    secure: nullable(typed('boolean', secure, 'secure')),
    httpOnly: nullable(typed('boolean', httpOnly, 'httpOnly')),
    sameSite: typeof sameSite === 'string' ? (sameSites[sameSite.toLowerCase()] ?? 0) : RpcHttpCookieSameSite.None,
    maxAge: nullable(typed('number', isNumeric(maxAge) ? Number(maxAge) : maxAge, 'maxAge')),
  };
}

interface Types {
  string: string;
  boolean: boolean;
  number: number;
}

function typed<K extends keyof Types>(type: K, value: unknown, name: string): Types[K] | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value === type) return value as Types[K]; // just compared
  throw new SystemError(
    `A '${type}' type was expected instead of a '${typeof value}' type. Cannot parse value of 'cookie.${name}'.`,
  );
}

function nullable<T>(value: T | undefined): { readonly value: T } | undefined {
  return value === undefined ? undefined : { value };
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value));
}

function toTimestamp(expires: unknown): RpcHttpCookieInit['expires'] {
  if (expires === null || expires === undefined) return undefined;
  const ms = expires instanceof Date ? expires.getTime() : expires;
  if (typeof ms === 'number') return ms > 0 ? { value: { seconds: Math.round(ms / 1_000) } } : undefined;
  throw new SystemError(
    `A 'number' or 'Date' input was expected instead of a '${typeof expires}'. Cannot parse value of 'cookie.expires'.`,
  );
}
