import { parseDuration } from './duration.js';

type JsonObject = Readonly<Record<string, unknown>>;

/** Bounds of a whole number. */
interface Bounds {
  readonly least: number;
  readonly most: number;
}

/**
 * Reads one object of an entities file. Keys are case-insensitive, since the file of Microsoft's emulator and ours differ in case
 * only. Every value that cannot be used becomes a problem, so that all are reported at once.
 */
export class SectionReader {
  readonly #path: string;
  readonly #values = new Map<string, { readonly key: string; readonly value: unknown }>();
  readonly #read = new Set<string>();
  readonly #problems: string[];

  constructor(path: string, value: JsonObject, problems: string[]) {
    this.#path = path;
    this.#problems = problems;
    for (const [key, own] of Object.entries(value)) this.#values.set(key.toLowerCase(), { key, value: own });
  }

  /** Opens a section, or reports that the value is not an object. */
  static open(path: string, value: unknown, problems: string[]): SectionReader {
    if (isObject(value)) return new SectionReader(path, value, problems);
    problems.push(`${path} must be an object, not ${shown(value)}`);
    return new SectionReader(path, {}, problems);
  }

  has(key: string): boolean {
    return this.#values.has(key.toLowerCase());
  }

  /** Marks a key as known although its value has no effect here. */
  ignore(...keys: readonly string[]): void {
    for (const key of keys) this.#read.add(key.toLowerCase());
  }

  /** Opens the object under a key; undefined if there is none. */
  section(key: string): SectionReader | undefined {
    const value = this.#take(key);
    return value === undefined ? undefined : SectionReader.open(this.#pathOf(key), value, this.#problems);
  }

  /** Opens each object of a list. A text stands for an object with that name. */
  sections(key: string): readonly SectionReader[] {
    return this.#list(key).map((value, index) => {
      const path = `${this.#pathOf(key)}[${index}]`;
      return SectionReader.open(path, typeof value === 'string' ? { name: value } : value, this.#problems);
    });
  }

  texts(key: string): readonly string[] {
    return this.#list(key).flatMap((value, index) => {
      if (typeof value === 'string' && value !== '') return [value];
      this.#problems.push(`${this.#pathOf(key)}[${index}] must be a name, not ${shown(value)}`);
      return [];
    });
  }

  /** Returns a text that is not empty; an empty one counts as absent, as in Microsoft's files. */
  text(key: string): string | undefined {
    const value = this.#take(key);
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'string') return value;
    return this.#refuse(key, 'a string', value);
  }

  name(pattern: RegExp, allowed: string): string {
    const value = this.#take('name');
    if (typeof value === 'string' && pattern.test(value)) return value;
    if (value === undefined) this.#problems.push(`${this.#path} needs a name: ${allowed}`);
    else this.#refuse('name', allowed, value);
    return '';
  }

  flag(key: string): boolean | undefined {
    const value = this.#take(key);
    if (value === undefined || typeof value === 'boolean') return value;
    if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
    return this.#refuse(key, 'true or false', value);
  }

  wholeNumber(key: string, { least, most }: Bounds): number | undefined {
    const value = this.#take(key);
    if (value === undefined) return undefined;
    const number = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most) return number;
    return this.#refuse(key, `a whole number from ${least} to ${most}`, value);
  }

  /** Reads `PT1M` or `00:01:00` as milliseconds. */
  durationMs(key: string, { least, most }: Bounds): number | undefined {
    const value = this.#take(key);
    if (value === undefined) return undefined;
    const ms = typeof value === 'string' ? parseDuration(value) : undefined;
    if (ms !== undefined && ms >= least) return Math.min(ms, most);
    return this.#refuse(key, `a duration such as "PT1M" or "00:01:00", at least ${least / 1000} s`, value);
  }

  /** Values of an object whose keys the user chooses. */
  properties(key: string): Readonly<Record<string, string | number | boolean>> | undefined {
    const value = this.#take(key);
    if (value === undefined) return undefined;
    if (!isObject(value)) return this.#refuse(key, 'an object', value);
    const found: [string, string | number | boolean][] = [];
    for (const [name, own] of Object.entries(value)) {
      if (typeof own === 'string' || typeof own === 'number' || typeof own === 'boolean') found.push([name, own]);
      else this.#problems.push(`${this.#pathOf(key)}.${name} must be a string, number or boolean, not ${shown(own)}`);
    }
    return Object.fromEntries(found);
  }

  problem(text: string): void {
    this.#problems.push(`${this.#path} ${text}`);
  }

  /** Reports keys that were not read: probably misspelt, and never ignored silently. */
  end(): void {
    for (const [folded, { key }] of this.#values)
      if (!this.#read.has(folded)) this.#problems.push(`${this.#pathOf(key)} is not a known option`);
  }

  #list(key: string): readonly unknown[] {
    const value = this.#take(key);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    this.#refuse(key, 'a list', value);
    return [];
  }

  #take(key: string): unknown {
    this.#read.add(key.toLowerCase());
    const value = this.#values.get(key.toLowerCase())?.value;
    return value === null ? undefined : value;
  }

  #refuse(key: string, allowed: string, value: unknown): undefined {
    this.#problems.push(`${this.#pathOf(key)} must be ${allowed}, not ${shown(value)}`);
    return undefined;
  }

  #pathOf(key: string): string {
    const written = this.#values.get(key.toLowerCase())?.key ?? key;
    return this.#path === '' ? written : `${this.#path}.${written}`;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
