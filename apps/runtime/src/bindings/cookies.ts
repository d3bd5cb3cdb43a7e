import { RpcHttpCookieSameSite, type RpcHttpCookie, type Timestamp } from '@drover/function-rpc';
import type { Checked } from '../applications/bindings.js';

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Everything that would end the attribute, the header or the text.
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const unsafe = /[\u0000-\u001f\u007f;,]|[^\u0000-\u007f]/;

/** The Set-Cookie header of one cookie. One without a path holds for the whole site, as in the original. */
export function serializeCookie(cookie: RpcHttpCookie): Checked<string> {
  const { name, value, expires, maxAge, domain, path, secure, httpOnly, sameSite } = cookie;
  if (!token.test(name)) return { problem: `the cookie name ${JSON.stringify(name)} is not valid` };
  const where = path?.value ?? '/';
  for (const [attribute, text] of [
    ['domain', domain?.value ?? ''],
    ['path', where],
  ] as const)
    if (unsafe.test(text)) return { problem: `the ${attribute} of cookie "${name}" is not valid` };
  const parts = [`${name}=${encode(value)}`];
  if (expires?.value) {
    const date = toDate(expires.value);
    if (Number.isNaN(date.getTime())) return { problem: `the expiry of cookie "${name}" is not a date` };
    parts.push(`expires=${date.toUTCString()}`);
  }
  if (maxAge?.value !== undefined) {
    if (!Number.isFinite(maxAge.value)) return { problem: `the maxAge of cookie "${name}" is not a number` };
    parts.push(`max-age=${Math.trunc(maxAge.value)}`);
  }
  if (domain?.value) parts.push(`domain=${domain.value}`);
  if (where !== '') parts.push(`path=${where}`);
  if (secure?.value) parts.push('secure');
  const site = sameSiteName(sameSite);
  if (site !== undefined) parts.push(`samesite=${site}`);
  if (httpOnly?.value) parts.push('httponly');
  return { value: parts.join('; ') };
}

/** `None` of the protocol says nothing; what browsers call None is `ExplicitNone`. */
function sameSiteName(sameSite: number): string | undefined {
  switch (sameSite) {
    case RpcHttpCookieSameSite.Lax:
      return 'lax';
    case RpcHttpCookieSameSite.Strict:
      return 'strict';
    case RpcHttpCookieSameSite.ExplicitNone:
      return 'none';
    default:
      return undefined;
  }
}

/** Everything but letters, digits and -_.~ is escaped; a half of a surrogate pair becomes the sign for nothing. */
function encode(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function toDate({ seconds, nanos }: Timestamp): Date {
  return new Date(Number(seconds) * 1_000 + nanos / 1_000_000);
}
