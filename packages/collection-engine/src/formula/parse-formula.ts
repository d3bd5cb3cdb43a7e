/** A formula as it is written. `at` is the index of its first character. */
export type FormulaNode = { readonly at: number } & (
  | { readonly kind: 'number' | 'text'; readonly text: string }
  | { readonly kind: 'word'; readonly word: 'TRUE' | 'FALSE' | 'NULL' }
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'operator'; readonly operator: string; readonly operands: readonly FormulaNode[] }
  | { readonly kind: 'call'; readonly name: string; readonly operands: readonly FormulaNode[] }
);

/** Thrown while a formula is read; the message says where and what to do. `compileFormula` turns it into a problem. */
export class FormulaError extends Error {
  constructor(message: string, at: number) {
    super(`${message} (at character ${at + 1})`);
  }
}

interface Token {
  readonly kind: 'number' | 'text' | 'name' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
}

const maxDepth = 60;
const tokens: readonly (readonly [Token['kind'], RegExp])[] = [
  ['number', /[0-9]+(?:\.[0-9]+)?|\.[0-9]+/y],
  ['text', /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/suy],
  ['name', /[\p{L}_][\p{L}\p{M}\p{N}_]*|\{[^{}]+\}/uy],
  ['symbol', /&&|\|\||==|!=|<>|<=|>=|[-+*/!=<>(),]/y],
];
/** Binary operators from the weakest to the strongest. */
const levels: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['=', '==', '!=', '<>'],
  ['<', '<=', '>', '>='],
  ['+', '-'],
  ['*', '/'],
];
/** Operators with two spellings. */
const spellings: Readonly<Record<string, string>> = { '==': '=', '<>': '!=' };

/** Parses a formula. Throws a FormulaError. */
export function parseFormula(source: string): FormulaNode {
  return new FormulaParser(tokenize(source)).parse();
}

function tokenize(source: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  const skipSpace = (): void => {
    while (/\s/.test(source[at] ?? '')) at += 1;
  };
  for (skipSpace(); at < source.length; skipSpace()) {
    const token = tokenAt(source, at);
    found.push(token);
    at += token.text.length;
  }
  return [...found, { kind: 'end', text: '', at }];
}

function tokenAt(source: string, at: number): Token {
  for (const [kind, pattern] of tokens) {
    pattern.lastIndex = at;
    const [text] = pattern.exec(source) ?? [];
    if (text !== undefined) return { kind, text, at };
  }
  const character = String.fromCodePoint(source.codePointAt(at) ?? 32);
  if (character === '"' || character === "'") throw new FormulaError(`The text has no closing ${character}`, at);
  throw new FormulaError(`"${character}" has no meaning in a formula`, at);
}

class FormulaParser {
  readonly #tokens: readonly Token[];
  #position = 0;
  #depth = 0;

  constructor(found: readonly Token[]) {
    this.#tokens = found;
  }

  parse(): FormulaNode {
    const node = this.#binary(0);
    const rest = this.#peek();
    if (rest.kind !== 'end') throw new FormulaError(`"${rest.text}" is not expected here`, rest.at);
    return node;
  }

  #binary(level: number): FormulaNode {
    const operators = levels[level];
    if (!operators) return this.#unary();
    let left = this.#binary(level + 1);
    for (let token = this.#peek(); token.kind === 'symbol' && operators.includes(token.text); token = this.#peek()) {
      this.#position += 1;
      const operator = spellings[token.text] ?? token.text;
      left = { kind: 'operator', operator, operands: [left, this.#binary(level + 1)], at: token.at };
    }
    return left;
  }

  #unary(): FormulaNode {
    const token = this.#peek();
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new FormulaError(`The formula is nested deeper than ${maxDepth}`, token.at);
    const isUnary = token.kind === 'symbol' && (token.text === '-' || token.text === '!');
    if (isUnary) this.#position += 1;
    const node: FormulaNode = isUnary
      ? { kind: 'operator', operator: token.text, operands: [this.#unary()], at: token.at }
      : this.#primary();
    this.#depth -= 1;
    return node;
  }

  #primary(): FormulaNode {
    const token = this.#peek();
    this.#position += 1;
    switch (token.kind) {
      case 'number':
        return { kind: 'number', text: token.text, at: token.at };
      case 'text':
        return { kind: 'text', text: unquoted(token.text), at: token.at };
      case 'name':
        return this.#named(token);
      case 'symbol':
        if (token.text === '(') return this.#inParentheses();
        throw new FormulaError(`"${token.text}" is not expected here`, token.at);
      case 'end':
        throw new FormulaError('The formula ends where a value is expected', token.at);
    }
  }

  #inParentheses(): FormulaNode {
    const node = this.#binary(0);
    this.#expect(')');
    return node;
  }

  #named({ text, at }: Token): FormulaNode {
    if (text.startsWith('{')) return { kind: 'field', name: text.slice(1, -1).trim(), at };
    const upper = text.toUpperCase();
    if (this.#peek().text === '(' && this.#peek().kind === 'symbol') {
      this.#position += 1;
      return { kind: 'call', name: upper, operands: this.#arguments(), at };
    }
    if (upper === 'TRUE' || upper === 'FALSE' || upper === 'NULL') return { kind: 'word', word: upper, at };
    return { kind: 'field', name: text, at };
  }

  #arguments(): FormulaNode[] {
    const found: FormulaNode[] = [];
    if (this.#peek().text !== ')') {
      do found.push(this.#binary(0));
      while (this.#take(','));
    }
    this.#expect(')');
    return found;
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? { kind: 'end', text: '', at: 0 };
  }

  #take(symbol: string): boolean {
    const token = this.#peek();
    if (token.kind !== 'symbol' || token.text !== symbol) return false;
    this.#position += 1;
    return true;
  }

  #expect(symbol: string): void {
    const token = this.#peek();
    if (this.#take(symbol)) return;
    throw new FormulaError(`"${symbol}" is expected here, not "${token.text || 'the end'}"`, token.at);
  }
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

/** A backslash stays before a letter that has no escape, so that `'\d'` is the regular expression it looks like. */
function unquoted(quoted: string): string {
  return quoted
    .slice(1, -1)
    .replaceAll(/\\(.)/gsu, (both, character: string) =>
      /[\\'"]/.test(character) ? character : (escapes[character] ?? both),
    );
}
