import type { Observe } from '@drover/service-kit';
import type { TriggerSourceObservation } from '@drover/trigger-sources';

/** The properties by which sources name what is unavailable. */
const places = ['queue', 'entity', 'hub', 'container', 'table', 'collection', 'store'] as const;
type Described = Readonly<Partial<Record<'functionName' | (typeof places)[number], string>>>;

/** Named at most; the rest is counted. */
const mostNamed = 5;

/**
 * The outages of trigger sources and output targets, for the health of the runtime. Each source observes `<source>.unavailable` when
 * an outage begins and `<source>.available` when it is over.
 */
export class SourceOutages {
  /** By scope, then by what is unavailable. */
  readonly #outages = new Map<symbol, Map<string, string>>();

  /** Starts a scope: the outages of what was created together end with `close`. */
  open(observe: Observe<TriggerSourceObservation>): {
    readonly observe: Observe<TriggerSourceObservation>;
    close(): void;
  } {
    const scope = Symbol('scope');
    const own = new Map<string, string>();
    this.#outages.set(scope, own);
    return {
      observe: (observation) => {
        record(own, observation);
        observe(observation);
      },
      close: () => void this.#outages.delete(scope),
    };
  }

  get count(): number {
    return this.#all().length;
  }

  /** Returns what is unavailable; undefined if nothing is. */
  problem(): string | undefined {
    const all = this.#all();
    if (all.length === 0) return undefined;
    const rest = all.length > mostNamed ? `, and ${all.length - mostNamed} more` : '';
    return `unavailable: ${all.slice(0, mostNamed).join(', ')}${rest}`;
  }

  #all(): string[] {
    return [...this.#outages.values()].flatMap((scope) => [...scope.values()]);
  }
}

function record(outages: Map<string, string>, observation: TriggerSourceObservation): void {
  const { kind } = observation;
  if (!kind.endsWith('available')) return; // nearly all
  const [source = '', event = ''] = kind.split('.');
  const { functionName, ...described } = observation as Described; // each source has some of these
  const place = places.map((name) => described[name]).find((value) => value !== undefined) ?? '';
  const isOver = !event.endsWith('unavailable');
  const what = event.replace(/(?:un)?available$/, '');
  const key = `${source}.${what} ${functionName ?? ''} ${place}`;
  if (isOver) outages.delete(key);
  else outages.set(key, `${source} ${place}${functionName === undefined ? '' : ` of ${functionName}`}`);
}
