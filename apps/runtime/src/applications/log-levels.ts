import { isJsonObject } from './json-text.js';

type LineLevel = 'debug' | 'info' | 'warn' | 'error';

const ranks: Readonly<Record<LineLevel, number>> = { debug: 1, info: 2, warn: 3, error: 4 };

/** The levels of host.json as the lowest rank that is logged. Trace and Debug are one level here, as are Error and Critical. */
const azureLevels: ReadonlyMap<string, number> = new Map([
  ['trace', ranks.debug],
  ['debug', ranks.debug],
  ['information', ranks.info],
  ['warning', ranks.warn],
  ['error', ranks.error],
  ['critical', ranks.error],
  ['none', Number.POSITIVE_INFINITY],
]);

/**
 * `logging.logLevel` of host.json: the lowest level that is logged, by category. The longest category that a line's category
 * begins with decides, else `default`, else Information.
 */
export class LogLevels {
  /** False: host.json has no levels, and every line is logged as the process is configured. */
  readonly isConfigured: boolean;
  /** Why entries are ignored, for the author of the app. */
  readonly problems: readonly string[];
  /** Lower-case categories, longest first. */
  readonly #categories: readonly (readonly [category: string, lowest: number])[];
  readonly #default: number;
  /** By category of a line: an application has few. */
  readonly #known = new Map<string, number>();

  constructor(logging: unknown) {
    const entries = Object.entries(levelsIn(logging));
    const problems: string[] = [];
    const read = entries.flatMap(([category, level]) => {
      const lowest = typeof level === 'string' ? azureLevels.get(level.toLowerCase()) : undefined;
      if (lowest !== undefined) return [[category.toLowerCase(), lowest] as const];
      const names = 'Trace, Debug, Information, Warning, Error, Critical or None';
      problems.push(`logging.logLevel.${category} is ${JSON.stringify(level)} and is ignored; it must be ${names}`);
      return [];
    });
    this.isConfigured = read.length > 0;
    this.problems = problems;
    this.#default = read.find(([category]) => category === 'default')?.[1] ?? ranks.info;
    this.#categories = read
      .filter(([category]) => category !== 'default')
      .toSorted(([one], [other]) => other.length - one.length);
  }

  /** Whether a line of this category and level is logged. */
  permits(category: string, level: LineLevel): boolean {
    return ranks[level] >= this.#lowestOf(category);
  }

  #lowestOf(category: string): number {
    const known = this.#known.get(category);
    if (known !== undefined) return known;
    const folded = category.toLowerCase();
    const lowest = this.#categories.find(([prefix]) => folded.startsWith(prefix))?.[1] ?? this.#default;
    if (this.#known.size < maxKnown) this.#known.set(category, lowest);
    return lowest;
  }
}

/** Workers choose categories: a worker that makes up many must not fill memory. */
const maxKnown = 1_000;

function levelsIn(logging: unknown): Readonly<Record<string, unknown>> {
  if (!isJsonObject(logging)) return {};
  // Names of sections are not case-sensitive in host.json.
  const [, levels] = Object.entries(logging).find(([name]) => name.toLowerCase() === 'loglevel') ?? [];
  return isJsonObject(levels) ? levels : {};
}
