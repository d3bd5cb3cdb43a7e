import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { BoundedMap, type Clock } from '@drover/service-kit';

export type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

/** Uses the resolver of the system, with hosts file and search domains: short names are usual in a cluster. */
export const lookupAll: Lookup = (name) => systemLookup(name, { all: true });

/** An endpoint without keep-alive costs one look-up in this time. */
const cacheMs = 1_000;
const maxCachedNames = 1_000;
/** Each occupies one of the four threads of libuv's pool, which file access and cryptography need as well. */
const maxLookups = 3;
const maxWaiting = 1_000;

/** Resolves names. Callers that ask for the same name at the same time share one look-up. */
export class NameResolver {
  readonly #lookup: Lookup;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #known = new BoundedMap<string, { readonly answer: Promise<readonly LookupAddress[]>; untilMs: number }>({
    maxWeight: maxCachedNames,
    whenFull: 'evict-unused',
  });
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(lookup: Lookup, clock: Pick<Clock, 'monotonicMs'>) {
    this.#lookup = lookup;
    this.#clock = clock;
  }

  resolve(name: string): Promise<readonly LookupAddress[]> {
    const known = this.#known.get(name);
    if (known && known.untilMs > this.#clock.monotonicMs()) return known.answer;
    this.#known.delete(name);
    const entry = { answer: this.#ask(name), untilMs: Number.POSITIVE_INFINITY };
    this.#known.set(name, entry);
    entry.answer.then(
      () => (entry.untilMs = this.#clock.monotonicMs() + cacheMs),
      // A failure is not cached: only callers that waited for it get it.
      () => this.#known.get(name) === entry && this.#known.delete(name),
    );
    return entry.answer;
  }

  async #ask(name: string): Promise<readonly LookupAddress[]> {
    if (this.#running >= maxLookups) {
      if (this.#waiting.length >= maxWaiting) throw new TooManyLookups();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await this.#lookup(name);
    } finally {
      // The slot goes to the next waiting look-up directly, so that no later one overtakes it.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

/** Has the code of a temporary failure of a resolver. */
class TooManyLookups extends Error {
  readonly code = 'EAI_AGAIN';
}
