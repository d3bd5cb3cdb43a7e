import { apiKeyChanged, type ApiKeyId, type Scope, type TenantId } from '@drover/contracts';
import type { EventBus, Subscription } from '@drover/event-bus';
import { BoundedMap, type Clock, type Lifecycle } from '@drover/service-kit';
import { parseApiKey, sameDigest, type ParsedApiKey } from './api-key-format.js';
import type { ApiKeyStore, StoredApiKey } from './api-key-store.js';

/** The verified identity behind a request. Only the authenticator creates one. */
export interface Caller {
  readonly keyId: ApiKeyId;
  readonly tenantId: TenantId;
  readonly scopes: readonly Scope[];
  /** When the key expires; undefined if it never does. */
  readonly expiresAt: Date | undefined;
}

/** The result of checking an `Authorization` header. */
export type Authentication =
  | { readonly caller: Caller }
  | { readonly refused: 'missing' | 'malformed' | 'unknown' | 'expired'; readonly keyId?: ApiKeyId };

/** Bounds how long a revoked key still works when the event about its revocation was lost. */
const cacheMs = 30_000;
const maxCachedKeys = 10_000;
/** How long an id without a key is remembered. Short: the event about a key that another replica has made may be lost. */
const unknownMs = 5_000;
const recordUseEveryMs = 60_000;
/** Bounds the cache of parsed headers, valid and invalid ones alike. */
const maxParsedHeaders = 1_000;
/** An unknown key is compared with this digest, so that the check takes as long as for a known key. */
const unknownDigest = Buffer.alloc(32);

/** Checks the `Authorization` header. Caches keys and drops a cached key when the bus reports that it changed. */
export class Authenticator implements Lifecycle {
  readonly name = 'authenticator';
  readonly #store: Pick<ApiKeyStore, 'find' | 'recordUse'>;
  readonly #bus: EventBus;
  readonly #clock: Clock;
  readonly #known = new BoundedMap<ApiKeyId, { readonly key: StoredApiKey; readonly untilMs: number }>({
    maxWeight: maxCachedKeys,
    whenFull: 'evict-unused',
  });
  /** Ids that have no key, and until when: requests with such a key must not cost a query each. */
  readonly #unknown = new BoundedMap<ApiKeyId, number>({ maxWeight: maxCachedKeys, whenFull: 'evict-unused' });
  /** Counts reported key changes: a row that was read before a change is not cached after it. */
  #changes = 0;
  /** At most `maxCachedKeys`; the use of further keys within the same minute is not recorded. */
  #used = new Map<ApiKeyId, number>();
  /** Cleared every minute. */
  readonly #presented = new BoundedMap<string, ParsedApiKey>({ maxWeight: maxParsedHeaders, whenFull: 'evict-unused' });
  #subscription: Subscription | undefined;
  #cancelRecording: () => void = () => undefined;

  constructor(store: Pick<ApiKeyStore, 'find' | 'recordUse'>, bus: EventBus, clock: Clock) {
    this.#store = store;
    this.#bus = bus;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#bus.subscribe({
      topics: [apiKeyChanged],
      from: 'now',
      handle: ({ key }) => this.forget(key as ApiKeyId), // the topic's key is the id
      onGap: () => {
        this.#changes += 1;
        this.#known.clear();
        this.#unknown.clear();
      },
    });
    this.#scheduleRecording();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#cancelRecording();
    await this.#subscription?.close();
    await this.#recordUse();
  }

  /** Drops a changed key from the cache: the next request that carries it is checked against the store. */
  forget(id: ApiKeyId): void {
    this.#changes += 1;
    this.#known.delete(id);
    this.#unknown.delete(id);
  }

  async authenticate(authorization: string | undefined): Promise<Authentication> {
    const presented = this.#present(authorization);
    if ('refused' in presented) return presented;
    const { id } = presented;
    return this.#authenticate(
      presented,
      this.#remembered(id) ?? (this.#isUnknown(id) ? undefined : await this.#find(id)),
    );
  }

  /** Checks without waiting. Returns undefined if nothing about the key is cached and the store has to be asked. */
  authenticateCached(authorization: string | undefined): Authentication | undefined {
    const presented = this.#present(authorization);
    if ('refused' in presented) return presented;
    const key = this.#remembered(presented.id);
    return key || this.#isUnknown(presented.id) ? this.#authenticate(presented, key) : undefined;
  }

  /** Parsing and hashing a key costs more than the rest of the check, and clients send the same header again and again. */
  #present(authorization: string | undefined): ParsedApiKey | Refused {
    if (authorization === undefined) return { refused: 'missing' };
    const known = this.#presented.get(authorization);
    if (known) return known;
    const presented = present(authorization);
    if ('refused' in presented) return presented;
    this.#presented.set(authorization, presented);
    return presented;
  }

  #authenticate(presented: ParsedApiKey, key: StoredApiKey | undefined): Authentication {
    if (!sameDigest(presented.digest, key?.digest ?? unknownDigest) || !key)
      return { refused: 'unknown', keyId: presented.id };
    if (key.expiresAt && key.expiresAt.getTime() <= this.#clock.now()) return { refused: 'expired', keyId: key.id };
    if (this.#used.size < maxCachedKeys || this.#used.has(key.id)) this.#used.set(key.id, this.#clock.now());
    return { caller: { keyId: key.id, tenantId: key.tenantId, scopes: key.scopes, expiresAt: key.expiresAt } };
  }

  #remembered(id: ApiKeyId): StoredApiKey | undefined {
    const known = this.#known.get(id);
    return known && known.untilMs > this.#clock.monotonicMs() ? known.key : undefined;
  }

  #isUnknown(id: ApiKeyId): boolean {
    return (this.#unknown.get(id) ?? 0) > this.#clock.monotonicMs();
  }

  async #find(id: ApiKeyId): Promise<StoredApiKey | undefined> {
    this.#known.delete(id);
    const changes = this.#changes;
    const untilMs = this.#clock.monotonicMs() + cacheMs;
    const key = await this.#store.find(id);
    // A change reported while the query ran may be newer than what the query returned.
    if (changes !== this.#changes) return key;
    if (key) this.#known.set(id, { key, untilMs });
    else this.#unknown.set(id, this.#clock.monotonicMs() + unknownMs);
    return key;
  }

  #scheduleRecording(): void {
    this.#cancelRecording = this.#clock.after(recordUseEveryMs, () => {
      this.#presented.clear();
      void this.#recordUse();
      this.#scheduleRecording();
    });
  }

  /** Writes the last use of each key once a minute instead of once a request. A failed write is retried with the next one. */
  async #recordUse(): Promise<void> {
    const used = this.#used;
    if (used.size === 0) return;
    this.#used = new Map();
    try {
      await this.#store.recordUse(used);
    } catch {
      this.#used = new Map([...used, ...this.#used]);
    }
  }
}

type Refused = Extract<Authentication, { readonly refused: string }>;

function present(authorization: string): ParsedApiKey | Refused {
  const [, text = ''] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
  return parseApiKey(text) ?? { refused: 'malformed' };
}
