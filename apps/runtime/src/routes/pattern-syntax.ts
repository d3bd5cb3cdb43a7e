/** What one step of a pattern takes from the text. */
export type CharacterTest = (character: string) => boolean;

/** A regular expression as a tree. */
export type Pattern =
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly part: Pattern; readonly min: number; readonly max: number };

/** Says what a pattern uses that is not known here; the offset is where. */
export class PatternProblem extends Error {}

/** Case is ignored. Here and not further out: what is left out by `[^a]` is left out in both cases. */
const caseless =
  (test: CharacterTest): CharacterTest =>
  (c) =>
    test(c) || test(c.toLowerCase()) || test(c.toUpperCase());
const exactly = (character: string): CharacterTest => caseless((c) => c === character);
const digit: CharacterTest = (c) => c >= '0' && c <= '9';
const word: CharacterTest = (c) => /^\w$/.test(c);
const space: CharacterTest = (c) => /^\s$/.test(c);
const not =
  (test: CharacterTest): CharacterTest =>
  (c) =>
    !test(c);
const classes: Readonly<Record<string, CharacterTest>> = {
  d: digit,
  D: not(digit),
  w: word,
  W: not(word),
  s: space,
  S: not(space),
};
const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', 0: '\0' };

/**
 * Reads the part of regular expressions that needs no going back: characters, classes, groups, choices, repeats and anchors.
 * What needs it (look-around, references to groups) is refused, so that no route can be made to take for ever.
 */
export function parsePattern(source: string): Pattern {
  const reader = new PatternReader(source);
  const pattern = reader.choice();
  if (!reader.isAtEnd) throw new PatternProblem(`an unexpected ")"`);
  return pattern;
}

class PatternReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#source.length;
  }

  choice(): Pattern {
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'choice', parts };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    while (!this.isAtEnd && this.#peek() !== '|' && this.#peek() !== ')') parts.push(this.#repeat(this.#atom()));
    return { kind: 'sequence', parts };
  }

  #atom(): Pattern {
    const character = this.#next();
    switch (character) {
      case '^':
        return { kind: 'start' };
      case '$':
        return { kind: 'end' };
      case '.':
        return { kind: 'character', test: (c) => c !== '\n' };
      case '(':
        return this.#group();
      case '[':
        return { kind: 'character', test: this.#class() };
      case '\\':
        return this.#escape();
      case '*':
      case '+':
      case '?':
        throw new PatternProblem(`a "${character}" with nothing before it`);
      default:
        return { kind: 'character', test: exactly(character) };
    }
  }

  #group(): Pattern {
    if (this.#take('?')) {
      const isNamed = this.#peek() === '<' && /^<\w+>/.test(this.#source.slice(this.#at, this.#at + 100));
      if (isNamed) this.#at = this.#source.indexOf('>', this.#at) + 1;
      else if (!this.#take(':')) throw new PatternProblem('look-around or inline options');
    }
    const inner = this.choice();
    if (!this.#take(')')) throw new PatternProblem('a group without its end');
    return inner;
  }

  #escape(): Pattern {
    const name = this.#next();
    if (name === 'A') return { kind: 'start' };
    if (name === 'z' || name === 'Z') return { kind: 'end' };
    return { kind: 'character', test: this.#escaped(name) };
  }

  /** Inside and outside of classes. */
  #escaped(name: string): CharacterTest {
    const known = Object.hasOwn(classes, name) ? classes[name] : undefined;
    if (known) return known;
    return exactly(this.#escapedCharacter(name));
  }

  #escapedCharacter(name: string): string {
    if (name === 'x' || name === 'u') {
      const digits = this.#source.slice(this.#at, this.#at + (name === 'x' ? 2 : 4));
      this.#at += digits.length;
      if (!/^[0-9a-f]+$/i.test(digits)) throw new PatternProblem(`"\\${name}" without a number`);
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    if (Object.hasOwn(controls, name)) return controls[name] ?? name;
    if (/[A-Za-z0-9]/.test(name)) throw new PatternProblem(`"\\${name}"`);
    return name;
  }

  #class(): CharacterTest {
    const isNegated = this.#take('^');
    const tests: CharacterTest[] = [];
    for (let isFirst = true; isFirst || this.#peek() !== ']'; isFirst = false) {
      if (this.isAtEnd) throw new PatternProblem('a class without its end');
      tests.push(this.#classItem());
    }
    this.#at += 1;
    const any: CharacterTest = (c) => tests.some((test) => test(c));
    return isNegated ? not(any) : any;
  }

  #classItem(): CharacterTest {
    const first = this.#next();
    if (first === '\\') {
      const name = this.#next();
      const known = Object.hasOwn(classes, name) ? classes[name] : undefined;
      if (known) return known;
      return this.#range(this.#escapedCharacter(name));
    }
    return this.#range(first);
  }

  #range(from: string): CharacterTest {
    const isRange = this.#peek() === '-' && this.#source[this.#at + 1] !== ']' && this.#at + 1 < this.#source.length;
    if (!isRange) return exactly(from);
    this.#at += 1;
    const last = this.#next();
    const to = last === '\\' ? this.#escapedCharacter(this.#next()) : last;
    if (to < from) throw new PatternProblem(`the range ${from}-${to}`);
    return caseless((c) => c >= from && c <= to);
  }

  #repeat(part: Pattern): Pattern {
    const bounds = this.#bounds();
    if (!bounds) return part;
    this.#take('?'); // whether it takes as few as it can makes no difference to whether it matches
    if (/^[*+?]/.test(this.#peek())) throw new PatternProblem('a repeat of a repeat');
    return { kind: 'repeat', part, ...bounds };
  }

  #bounds(): { readonly min: number; readonly max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#take('?')) return { min: 0, max: 1 };
    const [matched, least = '', comma, most = ''] =
      /^\{(\d{1,4})(,)?(\d{1,4})?\}/.exec(this.#source.slice(this.#at)) ?? [];
    if (matched === undefined) return undefined;
    this.#at += matched.length;
    const min = Number(least);
    const max = comma === undefined ? min : most === '' ? Number.POSITIVE_INFINITY : Number(most);
    if (max < min) throw new PatternProblem(`the repeat ${matched}`);
    return { min, max };
  }

  #peek(): string {
    return this.#source.charAt(this.#at);
  }

  #next(): string {
    if (this.isAtEnd) throw new PatternProblem('an end where more was expected');
    return this.#source.charAt(this.#at++);
  }

  #take(character: string): boolean {
    if (this.#peek() !== character || this.isAtEnd) return false;
    this.#at += 1;
    return true;
  }
}
