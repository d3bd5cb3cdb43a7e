/**
 * Regular expressions of definitions: the part of the syntax of JavaScript that needs no backtracking. Texts are matched in time
 * proportional to their length, so no pattern of one tenant can stop a process that serves others.
 */
export type PatternNode =
  | { readonly kind: 'set'; readonly set: CharacterSet }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly min: number; readonly max: number };

export interface CharacterSet {
  readonly isNegated: boolean;
  /** First and last code point of each range. */
  readonly ranges: readonly (readonly [number, number])[];
  /** Unicode properties: `\p{L}`. */
  readonly properties: readonly string[];
}

/** What is wrong with a pattern, and where. */
export interface PatternProblem {
  readonly problem: string;
}

/** PostgreSQL counts no further. */
const maxRepeat = 255;
const maxDepth = 50;
const last = 0x10_ff_ff;
const digit = [[48, 57]] as const;
const word = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
] as const;
const space = [
  [9, 13],
  [32, 32],
] as const;
const classes: Readonly<Record<string, readonly (readonly [number, number])[]>> = { d: digit, w: word, s: space };
const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

/** Any character but a line break, as in JavaScript. */
const dot: CharacterSet = {
  isNegated: true,
  ranges: [
    [10, 10],
    [13, 13],
    [0x20_28, 0x20_29],
  ],
  properties: [],
};

class PatternError extends Error {}

/** Parses a pattern. Returns a problem for syntax that is wrong or not supported. */
export function parsePattern(source: string): PatternNode | PatternProblem {
  try {
    const parser = new PatternParser(Array.from(source));
    return parser.parse();
  } catch (error) {
    if (error instanceof PatternError) return { problem: error.message };
    throw error;
  }
}

class PatternParser {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  parse(): PatternNode {
    const node = this.#choice(0);
    if (this.#at < this.#characters.length) this.#fail('")" has no "("');
    return node;
  }

  #choice(depth: number): PatternNode {
    if (depth > maxDepth) this.#fail(`groups are nested deeper than ${maxDepth}`);
    const parts = [this.#sequence(depth)];
    while (this.#take('|')) parts.push(this.#sequence(depth));
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'choice', parts };
  }

  #sequence(depth: number): PatternNode {
    const parts: PatternNode[] = [];
    while (this.#at < this.#characters.length && this.#peek() !== '|' && this.#peek() !== ')') {
      parts.push(this.#quantified(this.#atom(depth)));
    }
    return { kind: 'sequence', parts };
  }

  #quantified(part: PatternNode): PatternNode {
    const bounds = this.#bounds();
    if (!bounds) return part;
    if (part.kind === 'start' || part.kind === 'end') this.#fail('"^" and "$" cannot be repeated');
    const [min, max] = bounds;
    if (min > maxRepeat || (max !== Infinity && max > maxRepeat)) this.#fail(`a repetition counts to ${maxRepeat}`);
    if (min > max) this.#fail('the bounds of a repetition are in the wrong order');
    this.#take('?'); // the shortest match is a match of the same texts
    if ('*+?'.includes(this.#peek() || ' ')) this.#fail('a repetition follows a repetition');
    return { kind: 'repeat', part, min, max };
  }

  #bounds(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Infinity];
    if (this.#take('+')) return [1, Infinity];
    if (this.#take('?')) return [0, 1];
    if (this.#peek() !== '{') return undefined;
    const [all = '', min, comma, max] = /^\{(\d{1,4})(,)?(\d{1,4})?\}/.exec(this.#rest(12)) ?? [];
    if (all === '' || (comma === undefined && max !== undefined)) this.#fail('"{" must be written "\\{"');
    this.#at += all.length;
    return [Number(min), comma === undefined ? Number(min) : max === undefined ? Infinity : Number(max)];
  }

  #atom(depth: number): PatternNode {
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#group(depth);
      case '[':
        return { kind: 'set', set: this.#set() };
      case '.':
        return { kind: 'set', set: dot };
      case '^':
        return { kind: 'start' };
      case '$':
        return { kind: 'end' };
      case '\\':
        return { kind: 'set', set: this.#escape() };
      case '*':
      case '+':
      case '?':
      case '{':
        return this.#fail(`"${character}" has nothing to repeat`);
      default:
        return { kind: 'set', set: single(codeOf(character)) };
    }
  }

  #group(depth: number): PatternNode {
    if (this.#take('?')) {
      const [named = ''] = /^<[A-Za-z_]\w*>/.exec(this.#rest(70)) ?? [];
      if (named !== '') this.#at += named.length;
      else if (!this.#take(':')) this.#fail('look-around and flags are not supported');
    }
    const node = this.#choice(depth + 1);
    if (!this.#take(')')) this.#fail('"(" has no ")"');
    return node;
  }

  #set(): CharacterSet {
    const isNegated = this.#take('^');
    const ranges: (readonly [number, number])[] = [];
    const properties: string[] = [];
    while (!this.#take(']')) {
      const first = this.#member();
      const isRange = this.#peek() === '-' && this.#characters[this.#at + 1] !== ']';
      if (!isRange) {
        ranges.push(...first.ranges);
        properties.push(...first.properties);
        continue;
      }
      this.#at += 1;
      const [from, to] = [singleOf(first), singleOf(this.#member())];
      if (from === undefined || to === undefined || from > to) return this.#fail('the bounds of a range are wrong');
      ranges.push([from, to]);
    }
    if (ranges.length + properties.length === 0) this.#fail('"[]" contains no character');
    return { isNegated, ranges, properties };
  }

  #member(): CharacterSet {
    const character = this.#next();
    if (character === '') return this.#fail('"[" has no "]"');
    if (character !== '\\') return single(codeOf(character));
    const set = this.#escape();
    if (!set.isNegated) return set;
    if (set.properties.length > 0) return this.#fail('"\\P" cannot stand inside "[]"');
    return { isNegated: false, ranges: complement(set.ranges), properties: [] };
  }

  #escape(): CharacterSet {
    const character = this.#next();
    const lower = character.toLowerCase();
    const ranges = classes[lower];
    if (ranges) return { isNegated: character !== lower, ranges, properties: [] };
    const control = controls[character];
    if (control !== undefined) return single(control);
    if (lower === 'p') return { isNegated: character === 'P', ranges: [], properties: [this.#property()] };
    if (character === 'u' || character === 'x') return single(this.#hex(character));
    if (character === '' || /[\p{L}\p{N}]/u.test(character)) return this.#fail(`"\\${character}" is not supported`);
    return single(codeOf(character));
  }

  #property(): string {
    const [all = '', name = ''] = /^\{([A-Za-z_]+(?:=[A-Za-z_]+)?)\}/.exec(this.#rest(70)) ?? [];
    this.#at += all.length;
    return isProperty(name) ? name : this.#fail(`"\\p{${name}}" is not a property of Unicode`);
  }

  #hex(kind: 'u' | 'x'): number {
    const form = kind === 'x' ? /^([0-9a-f]{2})/i : /^(?:([0-9a-f]{4})|\{([0-9a-f]{1,6})\})/i;
    const [all = '', plain, braced] = form.exec(this.#rest(8)) ?? [];
    const code = Number.parseInt(plain ?? braced ?? '', 16);
    if (!(code > 0 && code <= last) || (code >= 0xd8_00 && code <= 0xdf_ff)) {
      return this.#fail(`"\\${kind}" must be followed by the number of a character`);
    }
    this.#at += all.length;
    return code;
  }

  #peek(): string {
    return this.#characters[this.#at] ?? '';
  }

  #next(): string {
    const character = this.#peek();
    this.#at += 1;
    return character;
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at += 1;
    return true;
  }

  #rest(length: number): string {
    return this.#characters.slice(this.#at, this.#at + length).join('');
  }

  #fail(problem: string): never {
    throw new PatternError(`${problem} (at character ${Math.min(this.#at, this.#characters.length)})`);
  }
}

function isProperty(name: string): boolean {
  try {
    return new RegExp(`\\p{${name}}`, 'u').unicode;
  } catch {
    return false;
  }
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;
const single = (code: number): CharacterSet => ({ isNegated: false, ranges: [[code, code]], properties: [] });

function singleOf({ isNegated, ranges, properties }: CharacterSet): number | undefined {
  const [range] = ranges;
  const isSingle = !isNegated && ranges.length === 1 && properties.length === 0 && range?.[0] === range?.[1];
  return isSingle ? range?.[0] : undefined;
}

function complement(ranges: CharacterSet['ranges']): (readonly [number, number])[] {
  let from = 1;
  const gaps: (readonly [number, number])[] = [];
  for (const [first, end] of ranges) {
    if (first > from) gaps.push([from, first - 1]);
    from = end + 1;
  }
  return [...gaps, [from, last]];
}
