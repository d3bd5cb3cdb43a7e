import { readFile } from 'node:fs/promises';
import { parseApiKey, type ApiKeyStore, type ParsedApiKey } from '@drover/collection-engine';
import { defaultTenantId, scopes, type Scope } from '@drover/contracts';
import { configurationInvalid, step, type Lifecycle, type Observe, type Secret } from '@drover/service-kit';
import { bootstrapKeyInvalid } from '../errors.js';
import type { ControlPlaneObservation } from '../observations.js';

interface BootstrapKeys {
  /** A JSON file with the key of the administrator, which gets all scopes. */
  readonly bootstrapKeyFile: string | undefined;
  /** Registers collection workers, and does nothing else. */
  readonly workerJoinKey: Secret | undefined;
}

/** Grants the configured keys their scopes before the HTTP port opens. */
export function bootstrapKeys(
  { bootstrapKeyFile: file, workerJoinKey }: BootstrapKeys,
  store: ApiKeyStore,
  observe: Observe<ControlPlaneObservation>,
): Lifecycle {
  const grant = async (
    key: ParsedApiKey,
    about: { readonly name: string; readonly scopes: readonly Scope[]; readonly isOnly: boolean },
  ): Promise<void> => {
    const changed = await store.bootstrap(defaultTenantId, key, about);
    if (changed)
      observe({ kind: 'access.key-changed', keyId: key.id, tenantId: defaultTenantId, change: 'bootstrapped' });
  };
  return step('bootstrap keys', {
    up: async () => {
      if (file !== undefined) await grant(await readKey(file), { name: 'bootstrap', scopes, isOnly: true });
      // Another platform on the same database has its own, and its workers go on.
      if (workerJoinKey)
        await grant(parseJoinKey(workerJoinKey), {
          name: 'collection workers',
          scopes: ['workers:join'],
          isOnly: false,
        });
    },
  });
}

function parseJoinKey(secret: Secret): ParsedApiKey {
  const key = parseApiKey(secret.reveal());
  if (key) return key;
  throw configurationInvalid({
    process: 'control-plane',
    problems: ['DROVER_WORKER_JOIN_KEY is not of the form drv_<id>_<secret>; make one with "drover keys create"'],
  });
}

async function readKey(file: string): Promise<ParsedApiKey> {
  const content = parseJson(file, await readText(file));
  const text = typeof content === 'object' && content !== null && 'apiKey' in content ? content.apiKey : undefined;
  const key = typeof text === 'string' ? parseApiKey(text) : undefined;
  if (!key) throw bootstrapKeyInvalid({ file, problem: 'holds no "apiKey" of the form drv_<id>_<secret>' });
  return key;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw bootstrapKeyInvalid({ file, problem: `cannot be read (${reason})` }, error);
  }
}

/** Drops the parser's own error: it quotes the text around the mistake, and that text is a key. */
function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw bootstrapKeyInvalid({ file, problem: 'is not valid JSON' });
  }
}
