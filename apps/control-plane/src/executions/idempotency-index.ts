import type { TenantId } from '@drover/contracts';
import type { FunctionDefinition } from '@drover/dispatchers';

/**
 * What a key stands for.
 * - live: an execution that is being accepted, waits or runs
 * - ended: one whose result the store has, or had; the key still stands for it until `expiresAt` (epoch milliseconds)
 */
export type IdempotencyEntry<Live> =
  | { readonly kind: 'live'; readonly live: Live }
  | { readonly kind: 'ended'; readonly executionId: string; readonly expiresAt: number };

/** The function's incarnation and the key; neither part can hold a NUL. */
export type ScopedKey = string;

export function scopedKey(
  { tenantId, name, generation }: Pick<FunctionDefinition, 'tenantId' | 'name' | 'generation'>,
  key: string,
): ScopedKey {
  return `${tenantId}\u0000${name}\u0000${generation}\u0000${key}`;
}

/** Whose key it is. */
export function functionOf(key: ScopedKey): { readonly tenantId: TenantId; readonly name: string } {
  const [tenantId = '', name = ''] = key.split('\u0000');
  return { tenantId: tenantId as TenantId, name }; // as `scopedKey` put it there
}

/**
 * Which key stands for which execution. Every change is one step without a wait in it: whoever claims a key has it, and between
 * "it runs" and "it has ended" there is no moment in which the key is free. Holds `capacity` keys at the most; a claim is the
 * reservation of its place, not a look whether there may be one.
 */
export class IdempotencyIndex<Live> {
  readonly #entries = new Map<ScopedKey, IdempotencyEntry<Live>>();
  /** Ended ones in the order in which they ended, and so of their expiry. */
  #ended: { readonly key: ScopedKey; readonly expiresAt: number }[] = [];
  #firstEnded = 0;
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** What the key stands for now; nothing when it is free, or its time is over. */
  find(key: ScopedKey, now: number): IdempotencyEntry<Live> | undefined {
    const entry = this.#entries.get(key);
    return entry?.kind === 'ended' && entry.expiresAt <= now ? undefined : entry;
  }

  /** Binds a free key; false when there is no place for it. */
  claim(key: ScopedKey, live: Live, now: number): boolean {
    if (this.#entries.size >= this.#capacity && !this.#entries.has(key)) {
      this.sweep(now);
      if (this.#entries.size >= this.#capacity) return false;
    }
    this.#entries.set(key, { kind: 'live', live });
    return true;
  }

  /** The execution was never accepted: the key is free again. */
  release(key: ScopedKey): void {
    this.#entries.delete(key);
  }

  /** In one step from the live execution to its tombstone. */
  end(key: ScopedKey, executionId: string, expiresAt: number): void {
    this.#entries.set(key, { kind: 'ended', executionId, expiresAt });
    this.#ended.push({ key, expiresAt });
  }

  /** Forgets keys whose time is over. */
  sweep(now: number): void {
    while (this.#firstEnded < this.#ended.length) {
      const oldest = this.#ended[this.#firstEnded];
      if (!oldest || oldest.expiresAt > now) break;
      const entry = this.#entries.get(oldest.key);
      // The key may have been claimed again after its time was over.
      if (entry?.kind === 'ended' && entry.expiresAt <= now) this.#entries.delete(oldest.key);
      this.#firstEnded += 1;
    }
    if (this.#firstEnded > 1_024 && this.#firstEnded * 2 > this.#ended.length) {
      this.#ended = this.#ended.slice(this.#firstEnded);
      this.#firstEnded = 0;
    }
  }

  /** Drops every key that `belongs` says so of: its home has moved. */
  drop(belongs: (key: ScopedKey) => boolean): void {
    for (const key of this.#entries.keys()) if (belongs(key)) this.#entries.delete(key);
  }
}
