import { readFile } from 'node:fs/promises';
import { parseApiKey, type ApiKeyStore, type ParsedApiKey } from '@drover/collection-engine';
import { defaultTenantId, scopes } from '@drover/contracts';
import { step, type Lifecycle, type Observe } from '@drover/service-kit';
import { bootstrapKeyInvalid } from '../errors.js';
import type { ControlPlaneObservation } from '../observations.js';

/** Grants all scopes to the key of the bootstrap file before the HTTP port opens. */
export function bootstrapKey(file: string, store: ApiKeyStore, observe: Observe<ControlPlaneObservation>): Lifecycle {
  return step('bootstrap key', {
    up: async () => {
      const key = await readKey(file);
      const changed = await store.bootstrap(defaultTenantId, key, scopes);
      if (changed)
        observe({ kind: 'access.key-changed', keyId: key.id, tenantId: defaultTenantId, change: 'bootstrapped' });
    },
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
