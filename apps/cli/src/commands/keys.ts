import { controlRoutes, scopes, type Scope } from '@drover/contracts';
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
    const ends = key.expiresAt === undefined ? '' : `  ends ${key.expiresAt}`;
    host.stdout.write(`${key.id}  ${key.name.padEnd(20)}  ${key.scopes.join(', ')}${ends}\n`);
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
    `This is shown once. It is good for ${created.key.scopes.join(', ')}; "drover keys revoke ${created.key.id}" ends it.\n`,
  );
}

export async function revokeKey(id: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(controlRoutes, flags, host);
  await client.revokeApiKey({ params: { keyId: id } });
  if (flags.json) host.stdout.write(`${JSON.stringify({ revoked: id })}\n`);
  else host.stdout.write(`${id} is good for nothing now\n`);
}

function toScope(text: string): Scope {
  const scope = scopes.find((known) => known === text);
  if (scope === undefined) throw new Error(`"${text}" is no scope; there are ${scopes.join(', ')}`);
  return scope;
}
