import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';

/**
 * The execution that a key stands for.
 * - live: it is being accepted, waits or runs
 * - ended: its result is, or was, in the store; the key stands for it until `expiresAt` (epoch milliseconds)
 */
export type IdempotencyEntry<Live> =
  | { readonly kind: 'live'; readonly live: Live }
  | { readonly kind: 'ended'; readonly executionId: string; readonly expiresAt: number };

/** Tenant, function, generation and key, separated by NUL, which no part can contain. */
export type ScopedKey = string;

export function scopedKey(
  { tenantId, name, generation }: Pick<FunctionDefinition, 'tenantId' | 'name' | 'generation'>,
  key: string,
): ScopedKey {
  return `${tenantId}\u0000${name}\u0000${generation}\u0000${key}`;
}

/** Returns the function of a key. */
export function functionOf(key: ScopedKey): { readonly tenantId: TenantId; readonly name: string } {
  const [tenantId = '', name = ''] = key.split('\u0000');
  return { tenantId: tenantId as TenantId, name }; // written by `scopedKey`
}

/**
 * Maps idempotency keys to executions. Every change is synchronous: a claimed key is taken, and there is no moment between "it runs" and
 * "it has ended" in which the key is free. Holds at most `capacity` keys; a claim reserves its place.
 */
export class IdempotencyIndex<Live> {
  readonly #entries = new Map<ScopedKey, IdempotencyEntry<Live>>();
  /** Ended entries in the order of their ends, which is the order of their expiry. */
  #ended: { readonly key: ScopedKey; readonly expiresAt: number }[] = [];
  #firstEnded = 0;
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the entry of the key, or undefined when the key is free or expired. */
  find(key: ScopedKey, now: number): IdempotencyEntry<Live> | undefined {
    const entry = this.#entries.get(key);
    return entry?.kind === 'ended' && entry.expiresAt <= now ? undefined : entry;
  }

  /** Binds a free key to a live execution. Returns false when the index is full. */
  claim(key: ScopedKey, live: Live, now: number): boolean {
    if (this.#entries.size >= this.#capacity && !this.#entries.has(key)) {
      this.sweep(now);
      if (this.#entries.size >= this.#capacity) return false;
    }
    this.#entries.set(key, { kind: 'live', live });
    return true;
  }

  /** Frees the key of an execution that was not accepted. */
  release(key: ScopedKey): void {
    this.#entries.delete(key);
  }

  /** Replaces the live execution by its end in one step. */
  end(key: ScopedKey, executionId: string, expiresAt: number): void {
    this.#entries.set(key, { kind: 'ended', executionId, expiresAt });
    this.#ended.push({ key, expiresAt });
  }

  /** Removes expired keys. */
  sweep(now: number): void {
    while (this.#firstEnded < this.#ended.length) {
      const oldest = this.#ended[this.#firstEnded];
      if (!oldest || oldest.expiresAt > now) break;
      const entry = this.#entries.get(oldest.key);
      // The key may have been claimed again after it expired.
      if (entry?.kind === 'ended' && entry.expiresAt <= now) this.#entries.delete(oldest.key);
      this.#firstEnded += 1;
    }
    if (this.#firstEnded > 1_024 && this.#firstEnded * 2 > this.#ended.length) {
      this.#ended = this.#ended.slice(this.#firstEnded);
      this.#firstEnded = 0;
    }
  }

  /** Removes the keys of partitions that moved to another replica. */
  drop(isMoved: (key: ScopedKey) => boolean): void {
    for (const key of this.#entries.keys()) if (isMoved(key)) this.#entries.delete(key);
  }
}
