import { tokenizeSql, type SqlToken } from './sql-tokens.js';
import { SqlError, systemProperties, type SqlValue, type SystemProperty } from './sql-values.js';

export type SqlProperty =
  | { readonly kind: 'system'; readonly name: SystemProperty }
  | { readonly kind: 'user'; readonly name: string };

export type SqlExpression =
  | SqlProperty
  | { readonly kind: 'constant'; readonly value: SqlValue }
  | { readonly kind: 'parameter'; readonly name: string }
  | { readonly kind: 'property'; readonly name: SqlExpression }
  | { readonly kind: 'newid' }
  | { readonly kind: 'negate'; readonly operand: SqlExpression }
  | {
      readonly kind: 'arithmetic';
      readonly operator: string;
      readonly left: SqlExpression;
      readonly right: SqlExpression;
    }
  | { readonly kind: 'compare'; readonly operator: string; readonly left: SqlExpression; readonly right: SqlExpression }
  | { readonly kind: 'not'; readonly operand: SqlExpression }
  | { readonly kind: 'and' | 'or'; readonly left: SqlExpression; readonly right: SqlExpression }
  | { readonly kind: 'in'; readonly operand: SqlExpression; readonly options: readonly SqlExpression[] }
  | {
      readonly kind: 'like';
      readonly operand: SqlExpression;
      readonly pattern: SqlExpression;
      readonly escape: SqlExpression | undefined;
    }
  | { readonly kind: 'isnull'; readonly operand: SqlExpression }
  | { readonly kind: 'exists'; readonly operand: SqlProperty };

export type SqlStatement =
  | { readonly kind: 'set'; readonly property: SqlProperty; readonly value: SqlExpression }
  | { readonly kind: 'remove'; readonly property: SqlProperty };

/** Limits of the cloud service; the depth also keeps a hostile expression from exhausting the stack. */
const maxLength = 1024;
const maxDepth = 32;
const maxInteger = (1n << 63n) - 1n;
const settable: ReadonlySet<SystemProperty> = new Set([
  'messageid',
  'correlationid',
  'sessionid',
  'replyto',
  'replytosessionid',
  'to',
  'label',
  'contenttype',
]);
const keywords = new Set('AND ESCAPE EXISTS FALSE IN IS LIKE NOT NULL OR REMOVE SET TRUE'.split(' '));
const comparisons = new Set(['=', '<>', '!=', '<', '<=', '>', '>=']);

/** Parses the expression of a SQL filter. Throws SqlError with the position of the first mistake. */
export function parseSqlFilter(text: string): SqlExpression {
  const parser = new SqlParser(text);
  const expression = parser.expression();
  parser.end();
  if (!isPredicate(expression))
    throw new SqlError('The expression is not a condition. Compare the value, such as "color = \'red\'".');
  return expression;
}

/** Parses the statements of a SQL action. Throws SqlError with the position of the first mistake. */
export function parseSqlAction(text: string): SqlStatement[] {
  const parser = new SqlParser(text);
  const statements: SqlStatement[] = [];
  while (!parser.atEnd()) {
    statements.push(parser.statement());
    while (parser.take(';') || parser.take(','));
  }
  if (statements.length === 0) throw new SqlError('The action is empty. Use SET or REMOVE.');
  return statements;
}

function isPredicate(expression: SqlExpression): boolean {
  switch (expression.kind) {
    case 'arithmetic':
    case 'negate':
    case 'newid':
      return false;
    case 'constant':
      return typeof expression.value === 'boolean';
    default:
      return true;
  }
}

/** Recursive descent: OR, AND, NOT, comparison, sum, product, sign, operand; each method parses one level. */
class SqlParser {
  readonly #tokens: readonly SqlToken[];
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    if (text.length > maxLength) {
      throw new SqlError(`The expression has ${text.length} characters. The maximum is ${maxLength}.`);
    }
    this.#tokens = tokenizeSql(text);
  }

  atEnd(): boolean {
    return this.#token().kind === 'end';
  }

  end(): void {
    if (!this.atEnd()) this.#unexpected('the end of the expression');
  }

  /** Consumes a symbol or a keyword if it is next. */
  take(text: string): boolean {
    const token = this.#token();
    const matches =
      (token.kind === 'symbol' && token.text === text) || (token.kind === 'word' && token.text.toUpperCase() === text);
    if (matches) this.#next += 1;
    return matches;
  }

  statement(): SqlStatement {
    if (this.take('REMOVE')) return { kind: 'remove', property: this.#settableProperty() };
    if (!this.take('SET')) this.#unexpected('SET or REMOVE');
    const property = this.#settableProperty();
    this.#expect('=');
    return { kind: 'set', property, value: this.expression() };
  }

  expression(): SqlExpression {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new SqlError(`The expression is nested more than ${maxDepth} levels deep.`);
    let left = this.#conjunction();
    while (this.take('OR')) left = { kind: 'or', left, right: this.#conjunction() };
    this.#depth -= 1;
    return left;
  }

  #conjunction(): SqlExpression {
    let left = this.#negation();
    while (this.take('AND')) left = { kind: 'and', left, right: this.#negation() };
    return left;
  }

  #negation(): SqlExpression {
    let negations = 0;
    while (this.take('NOT')) negations += 1;
    const operand = this.#comparison();
    return negations % 2 === 1 ? { kind: 'not', operand } : operand;
  }

  #comparison(): SqlExpression {
    const left = this.#sum();
    const token = this.#token();
    if (token.kind === 'symbol' && comparisons.has(token.text)) {
      this.#next += 1;
      return { kind: 'compare', operator: token.text === '!=' ? '<>' : token.text, left, right: this.#sum() };
    }
    if (this.take('IS')) {
      const negated = this.take('NOT');
      this.#expect('NULL');
      return wrapNot(negated, { kind: 'isnull', operand: left });
    }
    const negated = this.take('NOT');
    if (this.take('IN')) return wrapNot(negated, { kind: 'in', operand: left, options: this.#options() });
    if (this.take('LIKE')) {
      const pattern = this.#sum();
      const escape = this.take('ESCAPE') ? this.#sum() : undefined;
      return wrapNot(negated, { kind: 'like', operand: left, pattern, escape });
    }
    if (negated) this.#unexpected('IN or LIKE');
    return left;
  }

  #options(): SqlExpression[] {
    this.#expect('(');
    const options = [this.#sum()];
    while (this.take(',')) options.push(this.#sum());
    this.#expect(')');
    return options;
  }

  #sum(): SqlExpression {
    let left = this.#product();
    for (;;) {
      const operator = this.#takeAny(['+', '-']);
      if (operator === undefined) return left;
      left = { kind: 'arithmetic', operator, left, right: this.#product() };
    }
  }

  #product(): SqlExpression {
    let left = this.#sign();
    for (;;) {
      const operator = this.#takeAny(['*', '/', '%']);
      if (operator === undefined) return left;
      left = { kind: 'arithmetic', operator, left, right: this.#sign() };
    }
  }

  #sign(): SqlExpression {
    let negative = false;
    for (;;) {
      const sign = this.#takeAny(['+', '-']);
      if (sign === undefined) break;
      if (sign === '-') negative = !negative;
    }
    const operand = this.#operand();
    return negative ? { kind: 'negate', operand } : operand;
  }

  #operand(): SqlExpression {
    if (this.take('(')) {
      const expression = this.expression();
      this.#expect(')');
      return expression;
    }
    if (this.take('EXISTS')) {
      this.#expect('(');
      const operand = this.#property();
      this.#expect(')');
      return { kind: 'exists', operand };
    }
    const token = this.#token();
    const constant = constantOf(token);
    if (constant !== undefined) {
      this.#next += 1;
      return { kind: 'constant', value: constant };
    }
    if (token.kind === 'parameter') {
      this.#next += 1;
      return { kind: 'parameter', name: token.text };
    }
    return this.#function() ?? this.#property();
  }

  #function(): SqlExpression | undefined {
    const token = this.#token();
    const after = this.#tokens[this.#next + 1];
    if (token.kind !== 'word' || after?.kind !== 'symbol' || after.text !== '(') return undefined;
    const name = token.text.toLowerCase();
    if (keywords.has(token.text.toUpperCase())) return undefined;
    if (name !== 'newid' && name !== 'property' && name !== 'p') {
      throw new SqlError(`The function "${token.text}" does not exist. Use newid(), property(name) or p(name).`);
    }
    this.#next += 2;
    const call: SqlExpression = name === 'newid' ? { kind: 'newid' } : { kind: 'property', name: this.#sum() };
    this.#expect(')');
    return call;
  }

  #property(): SqlProperty {
    const first = this.#identifier();
    if (!this.take('.')) return { kind: 'user', name: first };
    const name = this.#identifier();
    const scope = first.toLowerCase();
    if (scope === 'user') return { kind: 'user', name };
    if (scope !== 'sys') throw new SqlError(`The scope "${first}" does not exist. Use sys or user.`);
    const wanted = name.toLowerCase();
    const system = systemProperties.find((known) => known === (wanted === 'subject' ? 'label' : wanted));
    if (system === undefined) {
      throw new SqlError(
        `The system property "sys.${name}" does not exist. Use one of ${systemProperties.join(', ')}.`,
      );
    }
    return { kind: 'system', name: system };
  }

  #settableProperty(): SqlProperty {
    const property = this.#property();
    if (property.kind === 'system' && !settable.has(property.name)) {
      throw new SqlError(`The system property "sys.${property.name}" cannot be changed by an action.`);
    }
    return property;
  }

  #identifier(): string {
    const token = this.#token();
    const isName = token.kind === 'name' || (token.kind === 'word' && !keywords.has(token.text.toUpperCase()));
    if (!isName) this.#unexpected('a property name');
    this.#next += 1;
    return token.text;
  }

  #takeAny(symbols: readonly string[]): string | undefined {
    return symbols.find((text) => this.take(text));
  }

  #expect(text: string): void {
    if (!this.take(text)) this.#unexpected(`"${text}"`);
  }

  #token(): SqlToken {
    return this.#tokens[Math.min(this.#next, this.#tokens.length - 1)] ?? { kind: 'end', text: '', at: 0 };
  }

  #unexpected(expected: string): never {
    const token = this.#token();
    const found = token.kind === 'end' ? 'the expression ends' : `"${token.text}" was found`;
    throw new SqlError(`${expected} was expected at position ${token.at + 1}, but ${found}.`);
  }
}

function wrapNot(negated: boolean, operand: SqlExpression): SqlExpression {
  return negated ? { kind: 'not', operand } : operand;
}

function constantOf(token: SqlToken): SqlValue | undefined {
  if (token.kind === 'string') return token.text;
  if (token.kind === 'decimal') return Number(token.text);
  if (token.kind === 'integer') {
    const value = BigInt(token.text);
    if (value > maxInteger) throw new SqlError(`The number ${token.text} does not fit into 64 bits.`);
    return value;
  }
  if (token.kind !== 'word') return undefined;
  const keyword = token.text.toUpperCase();
  if (keyword === 'NULL') return null;
  return keyword === 'TRUE' ? true : keyword === 'FALSE' ? false : undefined;
}
