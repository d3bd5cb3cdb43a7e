import path from 'node:path';
import { createClient, type Client, type Route, type SendRequest } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { readCredentials } from '../up/credentials.js';
import { credentialsMissing } from '../up/errors.js';

/** Creates a client of the platform that flags or environment variables name. `timeoutMs` limits each call. */
export async function connect<const Routes extends Readonly<Record<string, Route>>>(
  routes: Routes,
  flags: ClientFlags,
  host: NodeJS.Process,
  { timeoutMs, fetch }: { readonly timeoutMs?: number; readonly fetch?: SendRequest } = {},
): Promise<Client<Routes>> {
  const common = {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(fetch && { fetch }),
    isAsync: flags.noWait === true,
    onWaiting: (waitsFor: string) =>
      void host.stderr.write(`The change is stored, but does not hold everywhere yet. Waiting for: ${waitsFor}\n`),
  };
  const { DROVER_URL: url, DROVER_API_KEY: apiKey, DROVER_DATA_DIR = '.drover' } = host.env;
  if (flags.dataDir === undefined && url && apiKey) return createClient(routes, { url, apiKey, ...common });
  const file = path.resolve(flags.dataDir ?? DROVER_DATA_DIR, 'credentials.json');
  const credentials = await readCredentials(file);
  if (!credentials || credentials.url === '') throw credentialsMissing({ file });
  return createClient(routes, { ...credentials, ...common });
}
