import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlainContent } from '../broker/plain-content.test.fixture.js';
import { compileRule, type RuleFilter } from './rule.js';
import { parseSqlFilter } from './sql-parser.js';
import { matchesSql } from './sql-evaluate.js';
import { SqlError, type SqlResult } from './sql-values.js';

const message = new PlainContent({
  id: 'id-1',
  sessionId: 's1',
  system: { label: 'order', correlationid: 'c1', to: 'Store5' },
  user: {
    color: 'red',
    Quantity: 7n,
    price: 2.5,
    urgent: true,
    nothing: null,
    discount: '50%_off',
    'two words': 'x',
    at: new Date(1_000),
  },
});

const matches = (expression: string): boolean => matchesSql(parseSqlFilter(expression), message, new Map());

describe('SQL filters', () => {
  it.each([
    "color = 'red'",
    "COLOR = 'red'",
    "user.color = 'red' AND sys.Label = 'order'",
    "sys.Subject = 'order'",
    'quantity = 7 and quantity <> 8 AND quantity != 8',
    'quantity >= 7 AND quantity <= 7 AND quantity > 6.5 AND quantity < 7.5e0',
    'price * 2 = 5 AND quantity / 2 = 3 AND quantity % 4 = 3 AND quantity + 1 = 8',
    'quantity - 10 = -3 AND -quantity = -7 AND +quantity = 7',
    '1 + 2 * 3 = 7 AND (1 + 2) * 3 = 9',
    "color + '!' = 'red!'",
    "color IN ('blue', 'red')",
    "color NOT IN ('blue', 'green')",
    'quantity IN (1, 7.0)',
    "color LIKE 'r%' AND color LIKE '_e_' AND color LIKE '%d' AND color LIKE '%'",
    "color NOT LIKE 'b%'",
    "discount LIKE '50\\%\\_off' ESCAPE '\\'",
    'missing IS NULL AND nothing IS NULL AND color IS NOT NULL',
    'EXISTS(color) AND EXISTS(nothing) AND NOT EXISTS(missing) AND EXISTS(sys.CorrelationId)',
    'urgent = TRUE AND NOT (urgent = FALSE) AND urgent',
    "[two words] = 'x' AND \"two words\" = 'x'",
    "property('two words') = 'x' AND p('color') = 'red'",
    "newid() LIKE '________-____-____-____-____________'",
    "color = 'blue' OR color = 'red' AND quantity = 7",
    "NOT color = 'blue' AND NOT NOT color = 'red'",
    "sys.To IN ('Store5','Store6') OR missing = 1",
    '1=1',
    "'it''s' = 'it''s'",
  ])('matches %s', (expression) => {
    expect(matches(expression)).toBe(true);
  });

  it.each([
    "color = 'Red'",
    "(color = 'blue' OR color = 'red') AND quantity = 8",
    'missing = 1',
    'NOT missing = 1',
    'missing <> 1',
    'nothing = NULL',
    "missing NOT IN ('a')",
    "color NOT IN ('blue', missing)",
    "missing NOT LIKE 'a%'",
    'missing = 1 AND 1 = 1',
    'color = 7 OR NOT (color = 7)',
    'color > 1',
    "color LIKE 'R%'",
    "discount LIKE '50\\%' ESCAPE '\\'",
    '1=0',
    'missing',
  ])('does not match %s', (expression) => {
    expect(matches(expression)).toBe(false);
  });

  it.each([
    ['color = ', 'position 9'],
    ["color = 'red", 'not closed'],
    ['color == 1', 'position 8'],
    ['AND color = 1', 'position 1'],
    ["color LIKE 'a' ESCAPE", 'was expected'],
    ['sys.Nope = 1', 'does not exist'],
    ['other.color = 1', 'scope'],
    ['upper(color) = 1', 'function'],
    ['color NOT = 1', 'IN or LIKE'],
    ['1 + 1', 'not a condition'],
    ['color = 99999999999999999999', '64 bits'],
    ['color = 1 #', 'Unexpected character'],
    [`${'('.repeat(40)}1=1${')'.repeat(40)}`, 'nested'],
    [`color = '${'x'.repeat(1_100)}'`, 'characters'],
  ])('refuses %s and says why', (expression, reason) => {
    expect(() => parseSqlFilter(expression)).toThrow(reason);
  });

  it('fails on a message that makes it divide by zero, and on a parameter without a value', () => {
    expect(() => matches('quantity / 0 = 1')).toThrow('divides by zero');
    expect(() => matches('quantity = @limit')).toThrow('@limit');
    expect(() => matches("color LIKE 'a' ESCAPE 'ab'")).toThrow('one character');
  });

  it('replaces parameters by their values, dates among them', () => {
    const filter = (parameters: Record<string, SqlResult>): boolean =>
      matchesSql(parseSqlFilter('quantity > @limit AND at < @until'), message, new Map(Object.entries(parameters)));
    expect(filter({ '@limit': 6n, '@until': new Date(2_000) })).toBe(true);
    expect(filter({ '@limit': 7n, '@until': new Date(2_000) })).toBe(false);
    expect(filter({ '@limit': 6n, '@until': new Date(500) })).toBe(false);
  });

  it('follows the truth tables of three-valued logic', () => {
    const atoms = { T: '1=1', F: '1=0', U: 'missing=1' } as const;
    const value = (expression: string): string =>
      matches(expression) ? 'T' : matches(`NOT (${expression})`) ? 'F' : 'U';
    const table = (operator: string): string =>
      (['T', 'F', 'U'] as const)
        .map((left) =>
          (['T', 'F', 'U'] as const).map((right) => value(`${atoms[left]} ${operator} ${atoms[right]}`)).join(''),
        )
        .join(' ');
    expect(table('AND')).toBe('TFU FFF UFU');
    expect(table('OR')).toBe('TTT TFU TUU');
  });

  it('agrees with a regular expression on LIKE, for any text and pattern', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '%', '_', '.'), maxLength: 8 });
    fc.assert(
      fc.property(letters, letters, (text, pattern) => {
        const subject = new PlainContent({ user: { text } });
        const source = pattern.replaceAll('.', '\\.').replaceAll('%', '.*').replaceAll('_', '.');
        const filter = parseSqlFilter(`text LIKE '${pattern}'`);
        expect(matchesSql(filter, subject, new Map())).toBe(new RegExp(`^${source}$`).test(text));
      }),
    );
  });

  it('never fails in another way than with an SqlError, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(...'ab1.\'"[]()=<>!+-*/%@ ,'.split(''), ' AND ', ' NOT ', ' IN '),
          maxLength: 40,
        }),
        (text) => {
          try {
            matchesSql(parseSqlFilter(text), message, new Map());
          } catch (error) {
            expect(error).toBeInstanceOf(SqlError);
          }
        },
      ),
    );
  });
});

describe('rules', () => {
  const rule = (filter: RuleFilter): boolean => compileRule({ name: 'r', filter }).matches(message);

  it('compares every property of a correlation filter', () => {
    expect(
      rule({
        kind: 'correlation',
        system: { subject: 'order', correlationId: 'c1' },
        user: { color: 'red', quantity: 7n },
      }),
    ).toBe(true);
    expect(rule({ kind: 'correlation', system: { subject: 'order', messageId: 'other' }, user: {} })).toBe(false);
    expect(rule({ kind: 'correlation', system: {}, user: { color: 'RED' } })).toBe(false);
    expect(rule({ kind: 'correlation', system: {}, user: { missing: 'x' } })).toBe(false);
    expect(() => rule({ kind: 'correlation', system: {}, user: {} })).toThrow('names no property');
  });

  it('runs the statements of an action in order', () => {
    const action =
      "SET sys.Label = 'new'; SET total = quantity * 2, SET total = total + 1; REMOVE color; SET copy = color; SET who = 'a'";
    const changes = compileRule({ name: 'r', filter: { kind: 'true' }, action: { expression: action } }).changes?.(
      message,
    );
    expect(changes?.system).toEqual(new Map([['label', 'new']]));
    expect([...(changes?.user ?? [])]).toEqual([
      ['total', 15n],
      ['color', undefined],
      ['copy', null],
      ['who', 'a'],
    ]);
  });

  it.each([
    ['SET', 'property name'],
    ['SET a', '"="'],
    ['DROP a', 'SET or REMOVE'],
    ['', 'empty'],
    ["SET sys.ScheduledEnqueueTimeUtc = 'x'", 'cannot be changed'],
  ])('refuses the action "%s"', (expression, reason) => {
    expect(() => compileRule({ name: 'r', filter: { kind: 'true' }, action: { expression } })).toThrow(reason);
  });

  it('fails on a message whose label it would set to a number', () => {
    const { changes } = compileRule({
      name: 'r',
      filter: { kind: 'true' },
      action: { expression: 'SET sys.Label = 5' },
    });
    expect(() => changes?.(message)).toThrow('must be a string');
  });
});
