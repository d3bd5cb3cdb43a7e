import { controlRoutes, isScope, scopes, type Scope } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { connect } from './connect.js';

export async function listKeys(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(controlRoutes, flags, host);
  const keys = [];
  let after: string | undefined;
  do {
    const page = await client.listApiKeys({ query: { limit: 200, ...(after !== undefined && { after }) } });
    keys.push(...page.keys);
    after = page.next;
  } while (after !== undefined);
  if (flags.json) return void host.stdout.write(`${JSON.stringify(keys)}\n`);
  for (const key of keys) {
    const expiry = key.expiresAt === undefined ? '' : `  expires ${key.expiresAt}`;
    host.stdout.write(`${key.id}  ${key.name.padEnd(20)}  ${key.scopes.join(', ')}${expiry}\n`);
  }
}

export async function createKey(
  name: string,
  flags: ClientFlags & { readonly scope: readonly string[]; readonly expires?: string },
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(controlRoutes, flags, host);
  const body = {
    name,
    scopes: flags.scope.map(toScope),
    ...(flags.expires !== undefined && { expiresAt: flags.expires }),
  };
  const created = await client.createApiKey({ body });
  if (flags.json) return void host.stdout.write(`${JSON.stringify(created)}\n`);
  host.stdout.write(`${created.secret}\n`);
  host.stderr.write(
    `The key is shown only once. It has the scopes ${created.key.scopes.join(', ')}. To revoke it, run "drover keys revoke ${created.key.id}".\n`,
  );
}

export async function revokeKey(id: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(controlRoutes, flags, host);
  await client.revokeApiKey({ params: { keyId: id } });
  if (flags.json) host.stdout.write(`${JSON.stringify({ revoked: id })}\n`);
  else host.stdout.write(`The key ${id} is revoked.\n`);
}

function toScope(text: string): Scope {
  if (isScope(text)) return text;
  throw new Error(
    `The scope "${text}" does not exist. Use ${scopes.join(', ')}, or one of the last three for a single collection: records:read:orders.`,
  );
}
