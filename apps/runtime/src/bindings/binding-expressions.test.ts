import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate, evaluateTemplate, type BindingData } from './binding-expressions.js';
import { formatDate } from './date-format.js';

const now = Date.UTC(2031, 1, 3, 14, 5, 6, 78);
const surroundings = { functionName: 'work', now: () => now, uuid: () => '0d1c9e6a-1111-4222-8333-444455556666' };

function evaluate(text: string, data: BindingData = {}): string {
  const compiled = compileTemplate(text);
  if ('problem' in compiled) return `problem: ${compiled.problem}`;
  const outcome = evaluateTemplate(compiled.template, () => data, surroundings);
  return 'text' in outcome ? outcome.text : `{${outcome.failed.text}} ${outcome.reason}`;
}

describe('binding expressions', () => {
  const data = {
    queueTrigger: 'hello',
    id: 5,
    ok: true,
    customer: { name: 'Ann', tags: ['a'], address: { City: 'Rome' } },
    nothing: null,
    headers: { 'x-tenant': 't1' },
    query: { page: '2' },
    at: new Date(now),
  };

  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['{queueTrigger}', 'hello'],
    ['{QUEUETRIGGER}', 'hello'],
    ['a-{id}-{ok}', 'a-5-true'],
    ['{customer.name}/{customer.address.city}', 'Ann/Rome'],
    ['{headers.X-Tenant}-{query.page}', 't1-2'],
    ['{ id }', '5'],
    ['{{id}}', '{id}'],
    ['{{{id}}}', '{5}'],
    ['{rand-guid}', '0d1c9e6a-1111-4222-8333-444455556666'],
    ['{rand-guid:N}', '0d1c9e6a111142228333444455556666'],
    ['{rand-guid:B}', '{0d1c9e6a-1111-4222-8333-444455556666}'],
    ['{sys.randguid}', '0d1c9e6a-1111-4222-8333-444455556666'],
    ['{DateTime}', '2031-02-03T14-05-06Z'],
    ['{datetime:yyyy/MM/dd}', '2031/02/03'],
    ['{sys.utcnow:HH:mm}', '14:05'],
    ['{sys.utcNow}', '2031-02-03T14-05-06Z'],
    ['{sys.methodname}', 'work'],
    ['{at:yyyy}', '2031'],
  ])('%s becomes %s', (text, expected) => {
    expect(evaluate(text, data)).toBe(expected);
  });

  it.each([
    ['{missing}', '{missing} is not in the data of the trigger'],
    ['{customer.missing.deeper}', 'is not in the data of the trigger'],
    ['{customer}', 'is a list or an object'],
    ['{customer.tags}', 'a list or an object'],
    ['{customer.tags.0}', 'is not in the data of the trigger'],
    ['{nothing}', 'is null'],
    ['{rand-guid:X}', 'unknown format'],
    ['{constructor}', 'is not in the data of the trigger'],
    ['{__proto__}', 'is not in the data of the trigger'],
    ['{customer.__proto__.name}', 'is not in the data of the trigger'],
    ['{', 'problem: has a brace without its counterpart'],
    ['a}b', 'problem: has a brace'],
    ['{a{b}}', 'problem: has a brace'],
    ['{}', 'problem: has a brace'],
    ['{ }', 'problem: has an expression without a name'],
    ['{a..b}', 'problem: has an expression without a name'],
    ['{long}', 'makes more than'],
  ])('%s cannot be evaluated', (text, expected) => {
    expect(evaluate(text, { ...data, long: 'x'.repeat(9_000) })).toContain(expected);
  });

  it('has a bound', () => {
    expect(evaluate('x'.repeat(8_193))).toContain('problem: is longer than');
  });

  it('asks for no data without need', () => {
    const compiled = compileTemplate('{rand-guid}-constant');
    if ('problem' in compiled) return expect.unreachable();
    expect(evaluateTemplate(compiled.template, () => expect.unreachable(), surroundings)).toHaveProperty('text');
  });

  it('gives back any text whose braces are doubled, and any value as it is', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.string({ maxLength: 200 }), (literal, value) => {
        const escaped = literal.replaceAll('{', '{{').replaceAll('}', '}}');
        expect(evaluate(`${escaped}{v}`, { v: value })).toBe(literal + value);
      }),
    );
  });

  it('never throws and takes no longer than its length, whatever is written', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', 'a', '.', ':', ' ', '%') }),
        fc.object(),
        (text, data) => {
          expect(typeof evaluate(text, data as BindingData)).toBe('string');
        },
      ),
    );
    for (const piece of ['{{', '{', 'a', '{a}']) expect(typeof evaluate(piece.repeat(4_000), { a: '' })).toBe('string');
  });
});

describe('formatDate', () => {
  it.each([
    ['yy yyyy M MM MMM MMMM', '31 2031 2 02 Feb February'],
    ['d dd ddd dddd', '3 03 Mon Monday'],
    ['H HH h hh t tt', '14 14 2 02 P PM'],
    ['m mm s ss', '5 05 6 06'],
    ['f ff fff fffffff F', '0 07 078 0780000 '],
    ['z zz zzz K', '+0 +00 +00:00 Z'],
    ['\'at\' HH\\h "day"', 'at 14h day'],
    ['o', '2031-02-03T14:05:06.0780000Z'],
    ['s', '2031-02-03T14:05:06'],
    ['u', '2031-02-03 14:05:06Z'],
    ['r', 'Mon, 03 Feb 2031 14:05:06 GMT'],
    ['%d', '3'],
    ['constructor', 'con6PrucPor'],
  ])('%s gives %s', (format, expected) => {
    expect(formatDate(now, format)).toBe(expected);
  });
});
