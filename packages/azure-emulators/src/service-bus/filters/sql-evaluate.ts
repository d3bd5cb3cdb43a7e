import { randomUUID } from 'node:crypto';
import type { SqlExpression, SqlStatement } from './sql-parser.js';
import {
  compareSql,
  isNumber,
  SqlError,
  type FilterSubject,
  type PropertyChanges,
  type SqlResult,
  type SystemProperty,
} from './sql-values.js';

export type SqlParameters = ReadonlyMap<string, SqlResult>;

/** Evaluates a filter. Only TRUE matches: FALSE and UNKNOWN do not. Throws SqlError when the message makes it fail. */
export function matchesSql(filter: SqlExpression, subject: FilterSubject, parameters: SqlParameters): boolean {
  return truth(filter, subject, parameters) === true;
}

/** Runs the statements of an action in order; later ones see the changes of earlier ones. */
export function runSqlAction(
  statements: readonly SqlStatement[],
  subject: FilterSubject,
  parameters: SqlParameters,
): PropertyChanges {
  const system = new Map<SystemProperty, string | null>();
  const user = new Map<string, SqlResult>();
  const changed: FilterSubject = {
    system: (name) => (system.has(name) ? system.get(name) : subject.system(name)),
    user: (name) => (user.has(name) ? user.get(name) : subject.user(name)),
  };
  for (const { kind, property, ...statement } of statements) {
    const value =
      kind === 'set' && 'value' in statement ? (valueOf(statement.value, changed, parameters) ?? null) : undefined;
    if (property.kind === 'user') user.set(property.name, value);
    else system.set(property.name, value === undefined || value === null ? null : text(value, property.name));
  }
  return { system, user };
}

function text(value: SqlResult, name: string): string {
  if (typeof value === 'string') return value;
  throw new SqlError(`The action sets "sys.${name}" to ${String(value)}. The value must be a string.`);
}

function truth(expression: SqlExpression, subject: FilterSubject, parameters: SqlParameters): boolean | undefined {
  switch (expression.kind) {
    case 'and': {
      const left = truth(expression.left, subject, parameters);
      if (left === false) return false;
      const right = truth(expression.right, subject, parameters);
      return right === false ? false : left === undefined || right === undefined ? undefined : true;
    }
    case 'or': {
      const left = truth(expression.left, subject, parameters);
      if (left === true) return true;
      const right = truth(expression.right, subject, parameters);
      return right === true ? true : left === undefined || right === undefined ? undefined : false;
    }
    case 'not': {
      const operand = truth(expression.operand, subject, parameters);
      return operand === undefined ? undefined : !operand;
    }
    case 'compare':
      return comparison(
        expression.operator,
        compareSql(valueOf(expression.left, subject, parameters), valueOf(expression.right, subject, parameters)),
      );
    case 'in':
      return isOneOf(expression, subject, parameters);
    case 'like':
      return isLike(expression, subject, parameters);
    case 'isnull':
      return (valueOf(expression.operand, subject, parameters) ?? null) === null;
    case 'exists':
      return valueOf(expression.operand, subject, parameters) !== undefined;
    default: {
      const value = valueOf(expression, subject, parameters);
      return typeof value === 'boolean' ? value : undefined;
    }
  }
}

function comparison(operator: string, order: number | undefined): boolean | undefined {
  if (order === undefined) return undefined;
  switch (operator) {
    case '=':
      return order === 0;
    case '<>':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    default:
      return order >= 0;
  }
}

function isOneOf(
  { operand, options }: Extract<SqlExpression, { kind: 'in' }>,
  subject: FilterSubject,
  parameters: SqlParameters,
): boolean | undefined {
  const value = valueOf(operand, subject, parameters);
  let result: boolean | undefined = false;
  for (const option of options) {
    const order = compareSql(value, valueOf(option, subject, parameters));
    if (order === 0) return true;
    if (order === undefined) result = undefined;
  }
  return result;
}

function isLike(
  { operand, pattern, escape }: Extract<SqlExpression, { kind: 'like' }>,
  subject: FilterSubject,
  parameters: SqlParameters,
): boolean | undefined {
  const value = valueOf(operand, subject, parameters);
  const wanted = valueOf(pattern, subject, parameters);
  const mark = escape === undefined ? '' : valueOf(escape, subject, parameters);
  if (typeof value !== 'string' || typeof wanted !== 'string' || typeof mark !== 'string') return undefined;
  if (escape !== undefined && mark.length !== 1) throw new SqlError(`ESCAPE needs one character, not "${mark}".`);
  return matchesLike(value, likePattern(wanted, mark));
}

/** One element of a LIKE pattern: a literal character, any one character, or any run of characters. */
type LikeElement = { readonly character: string } | 'one' | 'run';

function likePattern(pattern: string, escape: string): LikeElement[] {
  const elements: LikeElement[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    if (character === escape) {
      at += 1;
      if (at === pattern.length) throw new SqlError('The LIKE pattern ends with its escape character.');
      elements.push({ character: pattern.charAt(at) });
    } else {
      elements.push(character === '%' ? 'run' : character === '_' ? 'one' : { character });
    }
  }
  return elements;
}

/** Matches without recursion: on a mismatch the last run takes one more character, so the cost is at most length × length. */
function matchesLike(value: string, pattern: readonly LikeElement[]): boolean {
  let at = 0;
  let element = 0;
  let run = -1;
  let runStart = 0;
  while (at < value.length) {
    const wanted = pattern[element];
    if (wanted === 'run') {
      run = element;
      runStart = at;
      element += 1;
    } else if (wanted === 'one' || (wanted !== undefined && wanted.character === value.charAt(at))) {
      at += 1;
      element += 1;
    } else if (run >= 0) {
      runStart += 1;
      at = runStart;
      element = run + 1;
    } else {
      return false;
    }
  }
  while (pattern[element] === 'run') element += 1;
  return element === pattern.length;
}

function valueOf(expression: SqlExpression, subject: FilterSubject, parameters: SqlParameters): SqlResult {
  switch (expression.kind) {
    case 'constant':
      return expression.value;
    case 'user':
      return subject.user(expression.name);
    case 'system':
      return subject.system(expression.name);
    case 'parameter':
      if (!parameters.has(expression.name)) throw new SqlError(`The parameter ${expression.name} has no value.`);
      return parameters.get(expression.name);
    case 'property': {
      const name = valueOf(expression.name, subject, parameters);
      return typeof name === 'string' ? subject.user(name) : undefined;
    }
    case 'newid':
      return randomUUID();
    case 'negate': {
      const operand = valueOf(expression.operand, subject, parameters);
      return isNumber(operand) ? -operand : undefined;
    }
    case 'arithmetic':
      return arithmetic(
        expression.operator,
        valueOf(expression.left, subject, parameters),
        valueOf(expression.right, subject, parameters),
      );
    default:
      return truth(expression, subject, parameters);
  }
}

/** Two integers give a 64-bit integer, any other two numbers a double, two strings their concatenation. */
function arithmetic(operator: string, left: SqlResult, right: SqlResult): SqlResult {
  if (operator === '+' && typeof left === 'string' && typeof right === 'string') return left + right;
  if (!isNumber(left) || !isNumber(right)) return undefined;
  if (typeof left !== 'bigint' || typeof right !== 'bigint')
    return doubleArithmetic(operator, Number(left), Number(right));
  if (right === 0n && (operator === '/' || operator === '%')) throw new SqlError('The expression divides by zero.');
  return BigInt.asIntN(64, integerArithmetic(operator, left, right));
}

function integerArithmetic(operator: string, left: bigint, right: bigint): bigint {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    default:
      return left % right;
  }
}

function doubleArithmetic(operator: string, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    default:
      return left % right;
  }
}
