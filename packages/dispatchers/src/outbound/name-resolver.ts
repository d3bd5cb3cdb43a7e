import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import { BoundedMap, type Clock } from '@drover/service-kit';

export type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

/** The system's own way, with its hosts file and search domains: in a cluster, short names are the usual ones. */
export const lookupAll: Lookup = (name) => systemLookup(name, { all: true });

/** What an endpoint without keep-alive costs in questions: one a second. */
const rememberMs = 1_000;
const maxCachedNames = 1_000;
/** Each holds a thread of the four that files and keys need too. */
const lookupsAtOnce = 3;
const waitingMost = 1_000;

/** Turns names into addresses; those who ask for the same name at the same time share the answer. */
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
      () => (entry.untilMs = this.#clock.monotonicMs() + rememberMs),
      // A failure is shared by those who waited for it and by nobody else.
      () => this.#known.get(name) === entry && this.#known.delete(name),
    );
    return entry.answer;
  }

  async #ask(name: string): Promise<readonly LookupAddress[]> {
    if (this.#running >= lookupsAtOnce) {
      if (this.#waiting.length >= waitingMost) throw new TooManyLookups();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await this.#lookup(name);
    } finally {
      // The place is handed on, not given back: nobody can slip in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

/** Has the code that resolvers use for "ask again later". */
class TooManyLookups extends Error {
  readonly code = 'EAI_AGAIN';
}
