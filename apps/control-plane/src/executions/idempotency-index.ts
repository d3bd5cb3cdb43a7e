import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';
import { Deque } from './queues/deque.js';

/**
 * The execution that a key stands for.
 * - live: it is being accepted, waits or runs
 * - ended: its result is, or was, in the store; the key stands for it until `expiresAt` (epoch milliseconds)
 */
export type IdempotencyEntry<Live> =
  | { readonly kind: 'live'; readonly live: Live }
  | { readonly kind: 'ended'; readonly executionId: string; readonly expiresAt: number };

/** One generation of a function, whose keys are its own. */
export type KeyScope = Pick<FunctionDefinition, 'tenantId' | 'name' | 'generation'>;

type EndedEntry<Live> = Extract<IdempotencyEntry<Live>, { readonly kind: 'ended' }>;
type FunctionKeys<Live> = Map<string, IdempotencyEntry<Live>>;

interface TenantKeys<Live> {
  readonly functions: Map<string, FunctionKeys<Live>>;
  size: number;
  /** In the order of their ends, which is the order of their expiry. Entries that were replaced since are skipped. */
  readonly ended: Deque<{ readonly keys: FunctionKeys<Live>; readonly key: string; readonly entry: EndedEntry<Live> }>;
}

/**
 * Maps idempotency keys to executions. Every change is synchronous: a claimed key is taken, and there is no moment between "it runs" and
 * "it has ended" in which the key is free. Each tenant may have `capacity` keys: the caller checks `hasRoom` before it claims.
 */
export class IdempotencyIndex<Live> {
  readonly #tenants = new Map<TenantId, TenantKeys<Live>>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Keys of all tenants. */
  get size(): number {
    let size = 0;
    for (const tenant of this.#tenants.values()) size += tenant.size;
    return size;
  }

  /** Returns the entry of the key, or undefined when the key is free or expired. */
  find(scope: KeyScope, key: string, now: number): IdempotencyEntry<Live> | undefined {
    const entry = this.#tenants.get(scope.tenantId)?.functions.get(functionOf(scope))?.get(key);
    return entry?.kind === 'ended' && entry.expiresAt <= now ? undefined : entry;
  }

  /** Whether the tenant may have another key. Removes its expired ones first if it may not. */
  hasRoom(tenantId: TenantId, now: number): boolean {
    const tenant = this.#tenants.get(tenantId);
    if (!tenant || tenant.size < this.#capacity) return true;
    this.#sweepTenant(tenant, now);
    return tenant.size < this.#capacity;
  }

  /** Returns when the tenant's next key expires, in epoch milliseconds; undefined while none has ended. */
  nextExpiry(tenantId: TenantId): number | undefined {
    return this.#tenants.get(tenantId)?.ended.peek()?.entry.expiresAt;
  }

  /** Binds the key to a live execution, in place of what it stood for. */
  claim(scope: KeyScope, key: string, live: Live): void {
    this.#set(scope, key, { kind: 'live', live });
  }

  /** Frees the key if it stands for this execution. */
  release(scope: KeyScope, key: string, live: Live): void {
    const tenant = this.#tenants.get(scope.tenantId);
    const keys = tenant?.functions.get(functionOf(scope));
    const entry = keys?.get(key);
    if (!tenant || entry?.kind !== 'live' || entry.live !== live) return;
    keys?.delete(key);
    tenant.size -= 1;
  }

  /** Binds the key to an execution that has ended, in one step. */
  end(scope: KeyScope, key: string, executionId: string, expiresAt: number): void {
    const entry: EndedEntry<Live> = { kind: 'ended', executionId, expiresAt };
    const { tenant, keys } = this.#set(scope, key, entry);
    tenant.ended.push({ keys, key, entry });
  }

  /** Removes expired keys. */
  sweep(now: number): void {
    for (const [tenantId, tenant] of this.#tenants) {
      this.#sweepTenant(tenant, now);
      for (const [name, keys] of tenant.functions) if (keys.size === 0) tenant.functions.delete(name);
      if (tenant.functions.size === 0) this.#tenants.delete(tenantId);
    }
  }

  /** Removes the keys of functions that moved to another replica. */
  drop(isMoved: (tenantId: TenantId, name: string) => boolean): void {
    for (const [tenantId, tenant] of this.#tenants)
      for (const [scope, keys] of tenant.functions) {
        if (!isMoved(tenantId, nameOf(scope))) continue;
        tenant.size -= keys.size;
        keys.clear(); // what `ended` has of it is skipped
        tenant.functions.delete(scope);
      }
  }

  #set(
    scope: KeyScope,
    key: string,
    entry: IdempotencyEntry<Live>,
  ): { readonly tenant: TenantKeys<Live>; readonly keys: FunctionKeys<Live> } {
    const { tenantId } = scope;
    let tenant = this.#tenants.get(tenantId);
    if (!tenant) this.#tenants.set(tenantId, (tenant = { functions: new Map(), size: 0, ended: new Deque() }));
    const name = functionOf(scope);
    let keys = tenant.functions.get(name);
    if (!keys) tenant.functions.set(name, (keys = new Map()));
    const before = keys.size;
    keys.set(key, entry);
    tenant.size += keys.size - before;
    return { tenant, keys };
  }

  #sweepTenant(tenant: TenantKeys<Live>, now: number): void {
    const { ended } = tenant;
    for (let oldest = ended.peek(); oldest; oldest = ended.peek()) {
      const { keys, key, entry } = oldest;
      const isCurrent = keys.get(key) === entry;
      if (isCurrent && entry.expiresAt > now) return;
      ended.shift();
      if (!isCurrent) continue;
      keys.delete(key);
      tenant.size -= 1;
    }
  }
}

/** Name and generation, separated by a character that no name contains. */
function functionOf({ name, generation }: KeyScope): string {
  return `${name} ${generation}`;
}

function nameOf(scope: string): string {
  return scope.slice(0, scope.indexOf(' '));
}
