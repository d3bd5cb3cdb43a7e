import { apiKeyChanged, type ApiKeyId, type Scope, type TenantId } from '@drover/contracts';
import type { EventBus, Subscription } from '@drover/event-bus';
import type { Clock, Lifecycle } from '@drover/service-kit';
import { parseApiKey, sameDigest, type ParsedApiKey } from './api-key-format.js';
import type { ApiKeyStore, StoredApiKey } from './api-key-store.js';

/** Who is calling, proven. Only the authenticator makes one. */
export interface Caller {
  readonly keyId: ApiKeyId;
  readonly tenantId: TenantId;
  readonly scopes: readonly Scope[];
  /** When the key ends to be good, if ever. */
  readonly expiresAt: Date | undefined;
}

export type Verdict =
  | { readonly caller: Caller }
  | { readonly refused: 'missing' | 'malformed' | 'unknown' | 'expired'; readonly keyId?: ApiKeyId };

/** Even when an event about a change got lost, a revoked key is refused this long after. */
const rememberMs = 30_000;
const rememberMost = 10_000;
const noteUseEveryMs = 60_000;
/** Headers that are remembered taken apart, good and bad ones alike. */
const presentedMost = 1_000;
/** What an unknown key is compared with, so that it takes as long as a known one. */
const nobody = Buffer.alloc(32);

/** Judges the `Authorization` header. Remembers keys for a while and forgets them when the bus says that one changed. */
export class Authenticator implements Lifecycle {
  readonly name = 'authenticator';
  readonly #store: Pick<ApiKeyStore, 'find' | 'noteUse'>;
  readonly #bus: EventBus;
  readonly #clock: Clock;
  /** Oldest first; at most `rememberMost`. */
  readonly #known = new Map<ApiKeyId, { readonly key: StoredApiKey; readonly untilMs: number }>();
  /** How often a key changed, as far as we know: what was read before a change is not remembered after it. */
  #changes = 0;
  /** At most `rememberMost`; the use of further keys within the same minute is not noted. */
  #used = new Map<ApiKeyId, number>();
  /** At most `presentedMost`, and no longer than a minute. */
  readonly #presented = new Map<string, ParsedApiKey>();
  #subscription: Subscription | undefined;
  #cancelNote: () => void = () => undefined;

  constructor(store: Pick<ApiKeyStore, 'find' | 'noteUse'>, bus: EventBus, clock: Clock) {
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
      },
    });
    this.#noteLater();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#cancelNote();
    await this.#subscription?.close();
    await this.#noteUse();
  }

  /** The key has changed: the next one who shows it is judged by what the store has then. */
  forget(id: ApiKeyId): void {
    this.#changes += 1;
    this.#known.delete(id);
  }

  async judge(authorization: string | undefined): Promise<Verdict> {
    const presented = this.#present(authorization);
    if ('refused' in presented) return presented;
    return this.#judge(presented, this.#remembered(presented.id) ?? (await this.#find(presented.id)));
  }

  /** The same without a wait; nothing when the store has to be asked. */
  judgeAtOnce(authorization: string | undefined): Verdict | undefined {
    const presented = this.#present(authorization);
    if ('refused' in presented) return presented;
    const key = this.#remembered(presented.id);
    return key && this.#judge(presented, key);
  }

  /** Taking a key apart costs more than all the rest; who calls often comes with the same one. */
  #present(authorization: string | undefined): ParsedApiKey | Refused {
    if (authorization === undefined) return { refused: 'missing' };
    const known = this.#presented.get(authorization);
    if (known) return known;
    const presented = present(authorization);
    if ('refused' in presented) return presented;
    if (this.#presented.size >= presentedMost) this.#presented.clear();
    this.#presented.set(authorization, presented);
    return presented;
  }

  #judge(presented: ParsedApiKey, key: StoredApiKey | undefined): Verdict {
    if (!sameDigest(presented.digest, key?.digest ?? nobody) || !key)
      return { refused: 'unknown', keyId: presented.id };
    if (key.expiresAt && key.expiresAt.getTime() <= this.#clock.now()) return { refused: 'expired', keyId: key.id };
    if (this.#used.size < rememberMost || this.#used.has(key.id)) this.#used.set(key.id, this.#clock.now());
    return { caller: { keyId: key.id, tenantId: key.tenantId, scopes: key.scopes, expiresAt: key.expiresAt } };
  }

  #remembered(id: ApiKeyId): StoredApiKey | undefined {
    const known = this.#known.get(id);
    return known && known.untilMs > this.#clock.monotonicMs() ? known.key : undefined;
  }

  async #find(id: ApiKeyId): Promise<StoredApiKey | undefined> {
    this.#known.delete(id);
    const changes = this.#changes;
    const untilMs = this.#clock.monotonicMs() + rememberMs;
    const key = await this.#store.find(id);
    // A revocation may have been told while the answer was on its way: then the answer may be the one from before it.
    if (!key || changes !== this.#changes) return key;
    this.#known.set(id, { key, untilMs });
    const [oldest] = this.#known.keys();
    if (this.#known.size > rememberMost && oldest !== undefined) this.#known.delete(oldest);
    return key;
  }

  #noteLater(): void {
    this.#cancelNote = this.#clock.after(noteUseEveryMs, () => {
      this.#presented.clear();
      void this.#noteUse();
      this.#noteLater();
    });
  }

  /** Worth a line a minute, not a write a request; if it fails, the next minute has it too. */
  async #noteUse(): Promise<void> {
    const used = this.#used;
    if (used.size === 0) return;
    this.#used = new Map();
    try {
      await this.#store.noteUse(used);
    } catch {
      this.#used = new Map([...used, ...this.#used]);
    }
  }
}

type Refused = Extract<Verdict, { readonly refused: string }>;

function present(authorization: string): ParsedApiKey | Refused {
  const [, text = ''] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
  return parseApiKey(text) ?? { refused: 'malformed' };
}
