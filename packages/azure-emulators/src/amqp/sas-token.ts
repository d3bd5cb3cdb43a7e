import { createHmac, timingSafeEqual } from 'node:crypto';

/** Keys by name, as in the shared access policies of a namespace. */
export type SharedAccessKeys = ReadonlyMap<string, string>;

export type TokenCheck =
  | { readonly valid: true; readonly expiresAtMs: number }
  | { readonly valid: false; readonly reason: string };

/** Checks a shared access signature: key known, signature right, not expired. */
export function checkSharedAccessSignature(token: string, keys: SharedAccessKeys, nowMs: number): TokenCheck {
  const prefix = 'SharedAccessSignature ';
  if (!token.startsWith(prefix)) return refused('the token is not a shared access signature');
  const fields = new Map<string, string>();
  for (const pair of token.slice(prefix.length).split('&')) {
    const at = pair.indexOf('=');
    if (at > 0) fields.set(pair.slice(0, at), pair.slice(at + 1));
  }
  const audience = fields.get('sr');
  const signature = fields.get('sig');
  const expiry = fields.get('se');
  const keyName = fields.get('skn');
  if (!audience || !signature || !expiry || keyName === undefined) {
    return refused('the shared access signature lacks one of sr, sig, se and skn');
  }
  const key = keys.get(decoded(keyName));
  if (key === undefined) return refused(`the key name '${decoded(keyName)}' is unknown`);
  const expected = createHmac('sha256', key).update(`${audience}\n${expiry}`).digest();
  const given = Buffer.from(decoded(signature), 'base64');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    return refused('the signature does not match the key');
  }
  const expiresAtMs = Number(expiry) * 1000;
  if (!(expiresAtMs > nowMs)) return refused('the token has expired');
  return { valid: true, expiresAtMs };
}

/** A token with a broken escape matches no key and no signature. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

function refused(reason: string): TokenCheck {
  return { valid: false, reason };
}
