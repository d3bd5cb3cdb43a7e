import { compileFieldPattern } from '../pattern/compile-field-pattern.js';
import { postgresPattern } from '../pattern/postgres-pattern.js';
import { readDate, readDatetime } from '../values/time-values.js';
import { toDecimal } from './decimal.js';
import type { FormulaExpression, FormulaType } from './formula-expression.js';
import type { OperationName } from './operations.js';

/** A checked operand; `isNull` for the word NULL, whose type is that of its neighbour. */
export interface FormulaOperand {
  readonly expression: FormulaExpression;
  readonly isNull: boolean;
}

/** Refuses a formula with a reason that ends in what to do. */
export type Refuse = (reason: string) => never;

type Build = (operands: readonly FormulaOperand[], refuse: Refuse, name: string) => FormulaExpression;

export interface FormulaFunction {
  readonly least: number;
  readonly most: number;
  readonly build: Build;
}

const operation = (
  type: FormulaType,
  name: OperationName,
  operands: readonly FormulaExpression[],
  setting?: string,
): FormulaExpression => ({ kind: 'operation', type, name, operands, setting });

const articles: Readonly<Record<string, string>> = {
  number: 'a number',
  text: 'a text',
  boolean: 'true or false',
  date: 'a date',
  datetime: 'a time',
  other: 'a JSON value',
};

/** Returns the operand if it is of the type, or has no value. */
function needed(
  operand: FormulaOperand | undefined,
  type: FormulaType,
  refuse: Refuse,
  name: string,
): FormulaExpression {
  if (!operand) return refuse(`${name} misses an operand`);
  if (operand.isNull) return { kind: 'literal', type, value: null };
  const { expression } = operand;
  if (expression.type === type) return expression;
  const converted = literalOf(expression, type);
  if (converted) return converted;
  if (type === 'datetime' && expression.type === 'date') return operation('datetime', 'dateToDatetime', [expression]);
  const hint = type === 'text' ? ' Convert it with TEXT().' : type === 'number' ? ' Convert a text with VALUE().' : '';
  return refuse(`${name} needs ${articles[type]}, not ${articles[expression.type]}.${hint}`);
}

/** A text in a formula can stand for a date or a time: `placedAt > '2026-01-31'`. */
function literalOf(expression: FormulaExpression, type: FormulaType): FormulaExpression | undefined {
  if (expression.kind !== 'literal' || typeof expression.value !== 'string' || expression.type !== 'text')
    return undefined;
  if (type !== 'date' && type !== 'datetime') return undefined;
  const isDate = typeof readDate(expression.value) === 'string';
  const value = type === 'date' || isDate ? readDate(expression.value) : readDatetime(expression.value);
  if (typeof value !== 'string') return undefined;
  const literal: FormulaExpression = { kind: 'literal', type: isDate ? 'date' : 'datetime', value };
  return isDate && type === 'datetime' ? operation('datetime', 'dateToDatetime', [literal]) : literal;
}

/** Brings operands to one type: NULL takes that of the others, a date becomes a time next to a time. */
function unified(operands: readonly FormulaOperand[], refuse: Refuse, name: string) {
  const types = new Set(operands.filter(({ isNull }) => !isNull).map(({ expression }) => expression.type));
  const isTime = types.has('datetime') || types.has('date');
  const wanted = types.has('datetime') ? 'datetime' : types.has('date') ? 'date' : [...types][0];
  if (wanted === undefined || wanted === 'other') return refuse(`${name} needs values that can be compared`);
  if (types.size > 1 && !isTime) {
    return refuse(`${name} needs values of one type, not ${[...types].map((type) => articles[type]).join(' and ')}`);
  }
  // A text that is no date makes a time of the whole: `createdOn = '2026-01-31T12:00:00Z'`.
  const type = wanted === 'date' && operands.some(isTimeText) ? 'datetime' : wanted;
  return { type, expressions: operands.map((operand) => needed(operand, type, refuse, name)) };
}

const isTimeText = ({ expression }: FormulaOperand): boolean =>
  expression.kind === 'literal' &&
  expression.type === 'text' &&
  typeof readDate(expression.value) !== 'string' &&
  typeof readDatetime(expression.value) === 'string';

/** An operation whose operands all have one known type. */
const typed =
  (result: FormulaType, operand: FormulaType, name: OperationName): Build =>
  (operands, refuse, shown) =>
    operation(
      result,
      name,
      operands.map((each) => needed(each, operand, refuse, shown)),
    );

const compared =
  (name: OperationName): Build =>
  (operands, refuse, shown) => {
    const { type, expressions } = unified(operands, refuse, shown);
    const isOrder = name !== 'equal' && name !== 'notEqual';
    if (isOrder && type === 'boolean') return refuse(`${shown} cannot order true and false`);
    return operation('boolean', name, expressions);
  };

const extreme =
  (name: OperationName): Build =>
  (operands, refuse, shown) => {
    const { type, expressions } = unified(operands, refuse, shown);
    if (type === 'text' || type === 'boolean') return refuse(`${shown} needs numbers, dates or times`);
    return operation(type, name, expressions);
  };

const isDay = (operand: FormulaOperand | undefined): boolean => operand?.expression.type === 'date' && !operand.isNull;

const add: Build = ([left, right], refuse, shown) => {
  if (isDay(left))
    return operation('date', 'addDays', [needed(left, 'date', refuse, shown), needed(right, 'number', refuse, shown)]);
  if (isDay(right))
    return operation('date', 'addDays', [needed(right, 'date', refuse, shown), needed(left, 'number', refuse, shown)]);
  const isText = [left, right].some((operand) => operand && !operand.isNull && operand.expression.type === 'text');
  const type = isText ? 'text' : 'number';
  const operands = [needed(left, type, refuse, shown), needed(right, type, refuse, shown)];
  return operation(type, isText ? 'concatenate' : 'add', operands);
};

const subtract: Build = ([left, right], refuse, shown) => {
  if (isDay(left) && isDay(right))
    return daysBetween(
      [left, right].flatMap((each) => each ?? []),
      refuse,
      shown,
    );
  if (isDay(left)) {
    const days = operation('number', 'negate', [needed(right, 'number', refuse, shown)]);
    return operation('date', 'addDays', [needed(left, 'date', refuse, shown), days]);
  }
  return operation('number', 'subtract', [
    needed(left, 'number', refuse, shown),
    needed(right, 'number', refuse, shown),
  ]);
};

const daysBetween: Build = (operands, refuse, shown) =>
  operation(
    'number',
    'daysBetween',
    operands.map((operand) => {
      const { expression } = operand;
      const literal = literalOf(expression, 'date') ?? literalOf(expression, 'datetime') ?? expression;
      return literal.type === 'datetime' && !operand.isNull
        ? operation('date', 'datetimeToDate', [literal])
        : needed(operand, 'date', refuse, shown);
    }),
  );

const toText: Build = ([operand], refuse, shown) => {
  const type = operand?.isNull ? 'text' : operand?.expression.type;
  if (!operand || type === undefined || type === 'other') return refuse(`${shown} cannot convert a JSON value`);
  if (type === 'text') return needed(operand, 'text', refuse, shown);
  return operation('text', `${type}ToText`, [operand.expression]);
};

const isBlank: Build = ([operand], refuse, shown) => {
  if (!operand) return refuse(`${shown} misses an operand`);
  const isText = operand.expression.type === 'text' && !operand.isNull;
  return operation('boolean', isText ? 'isBlankText' : 'isMissing', [operand.expression]);
};

const blankValue: Build = (operands, refuse, shown) => {
  const { type, expressions } = unified(operands, refuse, shown);
  return operation(type, type === 'text' ? 'textOrElse' : 'valueOrElse', expressions);
};

const choose: Build = ([condition, ...branches], refuse, shown) => {
  const { type, expressions } = unified(branches, refuse, shown);
  return operation(type, 'choose', [needed(condition, 'boolean', refuse, shown), ...expressions]);
};

const round: Build = ([value, digits], refuse, shown) => {
  const setting = digits ? integerOf(digits.expression) : 0;
  if (setting === undefined || Math.abs(setting) > 12) {
    return refuse('The second operand of ROUND is a whole number between -12 and 12, written as a number');
  }
  return operation('number', 'round', [needed(value, 'number', refuse, shown)], String(setting));
};

/** Returns the whole number that a literal is, with its sign. */
function integerOf(expression: FormulaExpression): number | undefined {
  if (expression.kind === 'operation' && expression.name === 'negate' && expression.operands[0]) {
    const negated = integerOf(expression.operands[0]);
    return negated === undefined ? undefined : -negated;
  }
  const isWhole =
    expression.kind === 'literal' && expression.type === 'number' && /^[0-9]+$/.test(String(expression.value));
  return isWhole ? Number(expression.value) : undefined;
}

const matches: Build = ([text, pattern], refuse, shown) => {
  const { expression } = pattern ?? {};
  if (expression?.kind !== 'literal' || expression.type !== 'text' || typeof expression.value !== 'string') {
    return refuse('The second operand of REGEX is a regular expression, written as a text');
  }
  const compiled = compileFieldPattern(expression.value);
  const translated = 'problem' in compiled ? compiled : postgresPattern(compiled.node);
  if (typeof translated !== 'string') return refuse(`The regular expression is invalid: ${translated.problem}`);
  return operation('boolean', 'matches', [needed(text, 'text', refuse, shown)], expression.value);
};

const fixed = (count: number, build: Build): FormulaFunction => ({ least: count, most: count, build });
const several = (least: number, build: Build): FormulaFunction => ({ least, most: 50, build });

export const operators: ReadonlyMap<string, Build> = new Map<string, Build>([
  ['+', add],
  ['-', subtract],
  ['*', typed('number', 'number', 'multiply')],
  ['/', typed('number', 'number', 'divide')],
  ['=', compared('equal')],
  ['!=', compared('notEqual')],
  ['<', compared('less')],
  ['<=', compared('lessOrEqual')],
  ['>', compared('greater')],
  ['>=', compared('greaterOrEqual')],
  ['&&', typed('boolean', 'boolean', 'and')],
  ['||', typed('boolean', 'boolean', 'or')],
]);

export const prefixOperators: ReadonlyMap<string, Build> = new Map([
  ['-', typed('number', 'number', 'negate')],
  ['!', typed('boolean', 'boolean', 'not')],
]);

export const formulaFunctions: ReadonlyMap<string, FormulaFunction> = new Map([
  ['TODAY', fixed(0, typed('date', 'date', 'today'))],
  ['NOW', fixed(0, typed('datetime', 'datetime', 'now'))],
  ['ISBLANK', fixed(1, isBlank)],
  ['BLANKVALUE', fixed(2, blankValue)],
  ['IF', fixed(3, choose)],
  ['AND', several(1, typed('boolean', 'boolean', 'and'))],
  ['OR', several(1, typed('boolean', 'boolean', 'or'))],
  ['NOT', fixed(1, typed('boolean', 'boolean', 'not'))],
  ['LEN', fixed(1, typed('number', 'text', 'length'))],
  ['CONTAINS', fixed(2, typed('boolean', 'text', 'contains'))],
  ['UPPER', fixed(1, typed('text', 'text', 'upper'))],
  ['LOWER', fixed(1, typed('text', 'text', 'lower'))],
  ['TRIM', fixed(1, typed('text', 'text', 'trim'))],
  ['TEXT', fixed(1, toText)],
  ['VALUE', fixed(1, typed('number', 'text', 'textToNumber'))],
  ['ROUND', { least: 1, most: 2, build: round }],
  ['ABS', fixed(1, typed('number', 'number', 'absolute'))],
  ['MAX', several(2, extreme('greatest'))],
  ['MIN', several(2, extreme('least'))],
  ['REGEX', fixed(2, matches)],
  ['DATEDIFF', fixed(2, daysBetween)],
]);

/** The result of a formula as the type that its field returns; undefined if it is of another. */
export function asResult(expression: FormulaExpression, type: FormulaType): FormulaExpression | undefined {
  if (expression.type === type) return expression;
  return type === 'datetime' && expression.type === 'date'
    ? operation('datetime', 'dateToDatetime', [expression])
    : undefined;
}

/** Reads a number of a formula; undefined if it is too large. */
export function numberLiteral(text: string): FormulaExpression | undefined {
  return toDecimal(text) === null ? undefined : { kind: 'literal', type: 'number', value: text };
}
