import { ApiKeyStore, parseApiKey } from '@drover/collection-engine';
import { defaultTenantId, type Scope, type TenantId } from '@drover/contracts';
import type { Database } from '@drover/database';
import { MemoryEventBus } from '@drover/event-bus/testing';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { newKey } from './control-plane.js';

/** The store itself, for changes that the API does not offer. No event is published for them. */
export function storeOf(database: Database): ApiKeyStore {
  return new ApiKeyStore(
    database,
    new MemoryEventBus({ clock: systemClock, randomness: systemRandomness, observe: () => undefined }),
  );
}

export interface KeyToStore {
  readonly tenantId?: string;
  readonly name?: string;
  readonly scopes?: Scope[];
  readonly expiresAt?: string;
}

/** A key of any tenant and any age, put there past the API. */
export async function storeKey(database: Database, wanted: KeyToStore = {}): Promise<string> {
  const { tenantId = defaultTenantId, name = 'stored', scopes = ['control:read', 'control:write'], expiresAt } = wanted;
  const key = newKey();
  const parsed = parseApiKey(key);
  if (!parsed) throw new Error('a new key does not parse');
  const tenant = tenantId as TenantId; // the test is what makes it one
  await storeOf(database).create(tenant, parsed, { name, scopes, ...(expiresAt !== undefined && { expiresAt }) });
  return key;
}
