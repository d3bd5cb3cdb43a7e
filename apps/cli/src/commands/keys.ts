import path from 'node:path';
import { controlRoutes, createClient, scopes, type Client, type Scope } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { readCredentials } from '../up/credentials.js';
import { credentialsMissing } from '../up/errors.js';

export async function listKeys(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(flags, host);
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
  const client = await connect(flags, host);
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
  const client = await connect(flags, host);
  await client.revokeApiKey({ params: { keyId: id } });
  if (flags.json) host.stdout.write(`${JSON.stringify({ revoked: id })}\n`);
  else host.stdout.write(`${id} is good for nothing now\n`);
}

async function connect(flags: ClientFlags, host: NodeJS.Process): Promise<Client<typeof controlRoutes>> {
  const { DROVER_URL: url, DROVER_API_KEY: apiKey, DROVER_DATA_DIR = '.drover' } = host.env;
  if (flags.dataDir === undefined && url && apiKey) return createClient(controlRoutes, { url, apiKey });
  const file = path.resolve(flags.dataDir ?? DROVER_DATA_DIR, 'credentials.json');
  const credentials = await readCredentials(file);
  if (!credentials || credentials.url === '') throw credentialsMissing({ file });
  return createClient(controlRoutes, credentials);
}

function toScope(text: string): Scope {
  const scope = scopes.find((known) => known === text);
  if (scope === undefined) throw new Error(`"${text}" is no scope; there are ${scopes.join(' and ')}`);
  return scope;
}
