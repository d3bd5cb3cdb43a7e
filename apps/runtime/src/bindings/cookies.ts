import { RpcHttpCookieSameSite, type RpcHttpCookie, type Timestamp } from '@drover/function-rpc';
import type { Checked } from '../applications/bindings.js';

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Characters that would end the attribute or the header.
// oxlint-disable-next-line no-control-regex -- control characters are searched for
const unsafe = /[\u0000-\u001f\u007f;,]|[^\u0000-\u007f]/;

/** Serializes a cookie in the form of ASP.NET (docs/decisions/0014). The default path is `/`, as in the official host. */
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

/** `None` of the protocol omits the attribute; SameSite=None is `ExplicitNone`. */
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

/** Escapes everything but letters, digits and -_.~; a lone surrogate becomes U+FFFD. */
function encode(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function toDate({ seconds, nanos }: Timestamp): Date {
  return new Date(Number(seconds) * 1_000 + nanos / 1_000_000);
}
