import type { FieldDefinition } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import type { StoredValue } from '../values/value-problem.js';
import { compileCondition, compileFormulaField } from './compile-formula.js';
import { textOfDecimal, doubleToDecimal } from './decimal.js';
import { evaluateFormula } from './evaluate-formula.js';

const fields: FieldDefinition[] = [
  { name: 'price', type: 'CURRENCY' },
  { name: 'quantity', type: 'INTEGER' },
  { name: 'weight', type: 'DOUBLE' },
  { name: 'name', type: 'STRING' },
  { name: 'order-no', type: 'STRING' },
  { name: 'paid', type: 'BOOLEAN' },
  { name: 'due', type: 'DATE' },
  { name: 'placed', type: 'DATETIME' },
  { name: 'meta', type: 'JSON' },
  { name: 'secret', type: 'ENCRYPTED' },
  { name: 'lines', type: 'ROLLUP_SUMMARY', rollup: { collection: 'lines', via: 'order', function: 'COUNT' } },
];

function collectionWith(more: FieldDefinition[] = []): CollectionModel {
  const definition = { name: 'orders', fields: [...fields, ...more] };
  return compileCollection({ id: '', tenantId: 'acme', version: 1, definition, table: 't', columns: {} });
}

type Returns = NonNullable<FieldDefinition['formula']>['returns'];
const formula = (name: string, expression: string, returns: Returns = 'DOUBLE'): FieldDefinition => ({
  name,
  type: 'FORMULA',
  formula: { expression, returns },
});

const nowMs = Date.parse('2026-03-01T12:30:00.000Z');

/** Evaluates an expression, whatever its type is. */
function valueOf(expression: string, values: Record<string, StoredValue> = {}): unknown {
  for (const returns of ['DOUBLE', 'STRING', 'BOOLEAN', 'DATE', 'DATETIME'] as const) {
    const collection = collectionWith([formula('f', expression, returns)]);
    const field = collection.fields.get('f');
    const compiled = field && compileFormulaField(collection, field);
    if (!compiled || ('problem' in compiled && compiled.problem.includes('Set "returns" to'))) continue;
    if ('problem' in compiled) throw new Error(compiled.problem);
    const value = evaluateFormula(compiled, { values, nowMs });
    return typeof value === 'bigint' ? textOfDecimal(value) : value;
  }
  throw new Error('no type fits');
}

function problemOf(...more: FieldDefinition[]): string | undefined {
  const collection = collectionWith(more);
  const field = collection.fields.get('f');
  const compiled = field && compileFormulaField(collection, field);
  return compiled && 'problem' in compiled ? compiled.problem : undefined;
}

describe('a formula', () => {
  it.each<[string, unknown]>([
    ['1 + 2 * 3', '7'],
    ['(1 + 2) * 3', '9'],
    ['0.1 + 0.2', '0.3'],
    ['10 / 4 / 5', '0.5'],
    ['2 / 3', '0.666666666667'],
    ['-2 / 3', '-0.666666666667'],
    ['1 / 0', null],
    ['1 - -1', '2'],
    ['ROUND(2.5)', '3'],
    ['ROUND(-2.345, 2)', '-2.35'],
    ['ROUND(1250, -2)', '1300'],
    ['ABS(-1.5) + MAX(1, 3, 2) + MIN(4, 2)', '6.5'],
    ['999999999999999999999999999999 + 1', null],
    ['price * quantity', '59.97'],
    ['price * quantity > 50 && !paid', true],
    ["name + ' ' + TEXT(quantity)", 'Ada 3'],
    ["UPPER(name) = 'ADA' || FALSE", true],
    ['LEN(name) + LEN({order-no})', '3'],
    ["CONTAINS(name, 'd')", true],
    ["TRIM('  a b ')", 'a b'],
    ["VALUE(' 12.50 ') + 1", '13.5'],
    ["VALUE('12a')", null],
    ["REGEX(name, '[A-Z][a-z]+')", true],
    ["REGEX(name, 'd')", false],
    ['ISBLANK({order-no})', true],
    ["BLANKVALUE({order-no}, 'none')", 'none'],
    ["IF(quantity >= 3, 'many', 'few')", 'many'],
    ['IF(quantity = 0, 1, NULL)', null],
    ['{order-no} = NULL', true],
    ["{order-no} != 'x'", true],
    ['AND(TRUE, quantity = 3, NOT(paid))', true],
    ['OR(paid, weight < 0)', false],
    ['weight < 5', false],
    ['!(weight < 5)', true],
    ['DATEDIFF(due, TODAY())', '30'],
    ['due - TODAY()', '30'],
    ['TEXT(due + 1) + TEXT(due - 31)', '2026-04-012026-02-28'],
    ["due > '2026-03-30' && placed < '2026-03-01'", true],
    ['placed < NOW() && placed < due', true],
    ['TEXT(placed)', '2026-02-28T23:00:00.000Z'],
    ['due + 4000000', null],
    ['ISBLANK(meta)', false],
    ['\'it\\\'s\' + "a \\"b\\""', 'it\'sa "b"'],
    ["'größe' > 'z'", false],
  ])('%s is %j', (expression, expected) => {
    const values = {
      price: 19.99,
      quantity: 3,
      name: 'Ada',
      paid: false,
      due: '2026-03-31',
      placed: '2026-02-28T23:00:00.000Z',
      meta: {},
    };
    expect(valueOf(expression, values)).toEqual(expected);
  });

  it('uses formulas of other fields', () => {
    const collection = collectionWith([formula('total', 'price * quantity'), formula('f', 'total * 2')]);
    const field = collection.fields.get('f');
    const compiled = field && compileFormulaField(collection, field);
    expect(
      compiled && !('problem' in compiled) && evaluateFormula(compiled, { values: { price: 2, quantity: 3 }, nowMs }),
    ).toBe(12_000_000_000_000n);
  });

  it.each<[string, Returns, string]>([
    ['1 +', 'DOUBLE', 'The formula ends where a value is expected (at character 4)'],
    ['1 + )', 'DOUBLE', '")" is not expected here'],
    ['(1', 'DOUBLE', '")" is expected here'],
    ['1 2', 'DOUBLE', '"2" is not expected here'],
    ["'a", 'STRING', "no closing '"],
    ['1 # 2', 'DOUBLE', '"#" has no meaning'],
    ['prise * 2', 'DOUBLE', 'Field "prise" does not exist. Did you mean "price"?'],
    ['ROUNDD(1)', 'DOUBLE', 'Function ROUNDD does not exist. Did you mean ROUND?'],
    ['LEN()', 'DOUBLE', 'LEN takes 1 operands, not 0'],
    ['name * 2', 'DOUBLE', 'needs a number, not a text. Convert a text with VALUE()'],
    ['name + 1', 'STRING', 'needs a text, not a number. Convert it with TEXT()'],
    ['price', 'STRING', 'gives DOUBLE, not STRING. Set "returns" to DOUBLE'],
    ['NULL', 'STRING', 'has no value'],
    ['paid > TRUE', 'BOOLEAN', 'cannot order true and false'],
    ["due > 'soon'", 'BOOLEAN', 'needs a date, not a text'],
    ["IF(paid, 1, 'a')", 'DOUBLE', 'values of one type, not a number and a text'],
    ["REGEX(name, '(a')", 'BOOLEAN', 'The regular expression is invalid: "(" has no ")"'],
    ["REGEX(name, '\\\\p{L}')", 'BOOLEAN', 'write the ranges of characters'],
    ['REGEX(name, name)', 'BOOLEAN', 'written as a text'],
    ['ROUND(1, quantity)', 'DOUBLE', 'between -12 and 12'],
    ['secret', 'STRING', 'is encrypted'],
    ['meta', 'STRING', 'cannot return a JSON value'],
    ['meta = meta', 'BOOLEAN', 'can be compared'],
    ['f + 1', 'DOUBLE', 'in a circle: f → f'],
    ['1e40', 'DOUBLE', 'not expected here'],
    ['1'.repeat(31), 'DOUBLE', 'smaller than 10^30'],
    ['('.repeat(100) + '1' + ')'.repeat(100), 'DOUBLE', 'nested deeper'],
    [Array.from({ length: 600 }, () => '1').join('+'), 'DOUBLE', 'more than 500 parts'],
  ])('%s is refused', (expression, returns, problem) => {
    expect(problemOf(formula('f', expression, returns))).toContain(problem);
  });

  it('cannot grow without limit through formulas that use formulas', () => {
    const doubled = Array.from({ length: 20 }, (_, index) =>
      formula(`f${index}`, index === 0 ? '1' : `f${index - 1} + f${index - 1}`),
    );
    expect(problemOf(...doubled, formula('f', 'f19'))).toContain('more than 500 parts');
    expect(problemOf(formula('a', 'f'), formula('f', 'a'))).toContain('f → a → f');
  });
});

describe('the condition of a rule', () => {
  const check = (source: string): unknown => compileCondition(collectionWith([formula('total', 'price * 2')]), source);

  it('reads what clients write, and formulas over it', () => {
    expect(check('total > 5 && ISBLANK(name)')).toMatchObject({ type: 'boolean' });
    expect(check('lines > 5')).toEqual({ problem: expect.stringContaining('reads only what clients write') });
    expect(check('createdAt > NOW()')).toEqual({ problem: expect.stringContaining('set by the platform') });
    expect(check('price')).toEqual({ problem: expect.stringContaining('must be true or false') });
  });
});

describe('a double', () => {
  it.each([
    [0.1 + 0.2, '0.3'],
    [12_345_678_901.031_25, '12345678901.0312'],
    [100_000_000_000_000.5, '100000000000000'],
    [10_000_000_000_000_050, '10000000000000000'],
    [-1e-13, '0'],
    [5e-13, '0.000000000001'],
    [1e29, '100000000000000000000000000000'],
  ])('%d becomes the decimal %s, like in PostgreSQL', (value, text) => {
    const decimal = doubleToDecimal(value);
    expect(decimal === null ? null : textOfDecimal(decimal)).toBe(text);
  });
});
