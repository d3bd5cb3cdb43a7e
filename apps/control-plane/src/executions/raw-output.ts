import type { Payload } from '@drover/contracts';

/** Unwraps an output: a JSON string becomes text, base64 becomes bytes, other JSON stays as it is. */
export function toRaw({ json, encoding }: Payload): { readonly body: string | Buffer; readonly contentType: string } {
  if (!json.startsWith('"')) return { body: json, contentType: 'application/json; charset=utf-8' };
  const text = JSON.parse(json) as string; // it starts like a JSON string, and it was validated
  return encoding === 'base64'
    ? { body: Buffer.from(text, 'base64'), contentType: 'application/octet-stream' }
    : { body: text, contentType: 'text/plain; charset=utf-8' };
}
