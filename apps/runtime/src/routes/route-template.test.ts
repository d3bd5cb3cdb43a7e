import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pathSegments } from './request-target.js';
import { matchRoute, segmentRange } from './route-matcher.js';
import { leadingLiterals, parseRouteTemplate } from './route-template.js';

function match(template: string, path: string): Record<string, string> | undefined | string {
  const parsed = parseRouteTemplate(template);
  if ('problem' in parsed) return parsed.problem;
  const segments = pathSegments(path);
  if (!segments) return undefined;
  const { least, most } = segmentRange(parsed.template);
  if (segments.segments.length < least || segments.segments.length > most) return undefined;
  const found = matchRoute(parsed.template, segments);
  return found && { ...found };
}

describe('route templates', () => {
  it.each([
    ['products', '/products', {}],
    ['Products', '/PRODUCTS/', {}],
    ['products', '/product', undefined],
    ['products/{id}', '/products/7', { id: '7' }],
    ['products/{id}', '/products', undefined],
    ['products/{id}', '/products/', undefined],
    ['products/{id}', '/products/7/8', undefined],
    ['products/{id?}', '/products', {}],
    ['products/{id?}', '/products/7', { id: '7' }],
    ['products/{id=5}', '/products', { id: '5' }],
    ['{a=1}/{b=2}', '/', { a: '1', b: '2' }],
    ['{a=1}/{b=2}', '/x', { a: 'x', b: '2' }],
    ['files/{*path}', '/files/a/b//c', { path: 'a/b//c' }],
    ['files/{**path}', '/files', {}],
    ['files/{*path=index}', '/files', { path: 'index' }],
    ['files/{*path}', '/other', undefined],
    ['{a}-{b}', '/x-y-z', { a: 'x-y', b: 'z' }],
    ['{a}-{b}', '/x-', undefined],
    ['{a}-{b}', '/-y', undefined],
    ['v{version}', '/V2', { version: '2' }],
    ['v{version}', '/vvv', { version: 'vv' }],
    ['v{major}.{minor}', '/v1.2.3', { major: '1.2', minor: '3' }],
    ['{name}.json', '/a.b.JSON', { name: 'a.b' }],
    ['{name}.json', '/.json', undefined],
    ['pre{x}mid{y}post', '/preAmidBmidCpost', { x: 'AmidB', y: 'C' }],
    ['pre{x}mid{y}post', '/premidpost', undefined],
    ['{name}.{ext?}', '/report', { name: 'report' }],
    ['{name}.{ext?}', '/report.pdf', { name: 'report', ext: 'pdf' }],
    ['{name}.{ext?}', '/a.b.c', { name: 'a.b', ext: 'c' }],
    ['{name}.{ext?}', '/report.', undefined],
    ['{{literal}}/{x}', '/{literal}/1', { x: '1' }],
    ['a/{id:int?}', '/a', {}],
    ['a/{id:int=3}', '/a', { id: '3' }],
    ['a/{id:regex(^[a-z]{{2}}/?$)}', '/a/bc', { id: 'bc' }],
    ['a/{id:regex(^(x|y)$):length(1)}', '/a/Y', { id: 'Y' }],
    ['a/{__proto__}', '/a/x', { ['__proto__']: 'x' }],
  ])('%s on %s gives %j', (template, path, expected) => {
    const found = match(template, path);
    const sorted = (values: object) => Object.entries(values).toSorted(([a], [b]) => a.localeCompare(b));
    expect(found && sorted(Object(found))).toEqual(expected && sorted(expected));
  });

  it.each([
    ['int', ['0', '-5', '+5', '2147483647', '-2147483648'], ['2147483648', '1.0', 'x', '0x1', '١']],
    ['long', ['9223372036854775807'], ['9223372036854775808', '9'.repeat(100)]],
    ['bool', ['true', 'FALSE'], ['1', 'yes']],
    [
      'guid',
      [
        'CD2C1638-1638-72D5-1638-DEADBEEF1638',
        'cd2c1638163872d51638deadbeef1638',
        '(cd2c1638-1638-72d5-1638-deadbeef1638)',
      ],
      ['cd2c1638-1638-72d5-1638', '{cd2c1638-1638-72d5-1638-deadbeef1638)'],
    ],
    ['alpha', ['abc', 'ABC'], ['a1', 'a b', 'é']],
    [
      'datetime',
      ['2016-12-31', '2016-12-31T23:59:59Z', '12-31-2016 7:32 pm', '2024-02-29'],
      ['2023-02-29', '2016-13-01', 'today', '2016-12-31T25:00'],
    ],
    ['decimal', ['49.99', '-1,000.01', '.5', '5.'], ['1e5', '.', '-', 'x']],
    ['double', ['1.234', '-1,001.01e8', '1E-3'], ['e5', '', '1.2.3']],
    ['float', ['1.5'], ['one']],
    ['min(18)', ['18', '99'], ['17', '-1', 'x']],
    ['max(120)', ['120', '-5'], ['121']],
    ['range(18,120)', ['18', '91', '120'], ['17', '121']],
    ['length(12)', ['Somefile.txt'], ['short']],
    ['length(2, 4)', ['ab', 'abcd'], ['a', 'abcde']],
    ['minlength(4)', ['Rick'], ['abc']],
    ['maxlength(8)', ['Richard'], ['Richard12']],
    ['regex(^\\d{{3}}-\\d{{2}}$)', ['123-45'], ['1234-5']],
    ['required', ['x'], []],
    ['INT', ['1'], ['x']],
  ])('the constraint %s takes %j and not %j', (constraint, good, bad) => {
    for (const value of good)
      expect(match(`x/{v:${constraint}}`, `/x/${encodeURIComponent(value)}`)).toEqual({ v: value });
    for (const value of bad) expect(match(`x/{v:${constraint}}`, `/x/${encodeURIComponent(value)}`)).toBeUndefined();
  });

  it.each([
    ['a//b', 'an empty segment'],
    ['{a}/{A}', 'the parameter "A" twice'],
    ['{a}{b}', 'two parameters with nothing between'],
    ['{*a}/b', 'catch-all parameter that is not the last'],
    ['x{*a}', 'more in the segment of the catch-all'],
    ['{a', '"{" without its "}"'],
    ['a}', '"}" without its "{"'],
    ['{}', 'without a valid name'],
    ['{a b}', 'without a valid name'],
    ['{a?}{b}', 'two parameters'],
    ['{a?}-{b}', 'optional parameter "a"'],
    ['a-{b?}', 'optional parameter "b"'],
    ['{a=1?}', 'use only one'],
    ['a?b', '"?" outside'],
    ['{a:nope}', 'constraint nope is unknown'],
    ['{a:int(5)}', 'takes no argument'],
    ['{a:range(1)}', 'constraint range(1) is unknown'],
    ['{a:min(x)}', 'constraint min(x) is unknown'],
    ['{a:regex((?=x))}', 'cannot be used in a route'],
    ['{a:regex()}', 'needs a pattern'],
    ['{a:min(1}', 'invalid parameter'],
    ['x'.repeat(3_000), 'longer than'],
  ])('%.20s is refused', (template, problem) => {
    expect(match(template, '/x')).toContain(problem);
  });
});

describe('matching', () => {
  const literal = fc.constantFrom('a', 'b', 'ab');
  const piece = fc.oneof(
    literal.map((text) => ({ template: text, source: text })),
    fc.constantFrom(1, 2).map(() => ({ template: '{@}', source: '([^/]+)' })),
    fc.tuple(literal, literal).map(([l, m]) => ({ template: `${l}{@}${m}{@}`, source: `${l}([^/]+)${m}([^/]+)` })),
    literal.map((text) => ({ template: `{@}${text}`, source: `([^/]+)${text}` })),
  );
  const ending = fc.constantFrom(
    { template: '', source: '' },
    { template: '{@?}', source: '(?:/([^/]+))?' },
    { template: '{*@}', source: '(?:/(.*))?' },
  );
  const paths = fc
    .array(fc.string({ unit: fc.constantFrom('a', 'b', 'A'), minLength: 1, maxLength: 5 }), { maxLength: 4 })
    .map((segments) => `/${segments.join('/')}`);

  it('agrees with a naive reading of templates as regular expressions', () => {
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 3 }), ending, paths, (pieces, last, path) => {
        let parameter = 0;
        const template = [...pieces, ...(last.template === '' ? [] : [last])]
          .map((part) => part.template.replaceAll('@', () => `p${parameter++}`))
          .join('/');
        const reference = new RegExp(`^/${pieces.map(({ source }) => source).join('/')}${last.source}/?$`, 'i').exec(
          path,
        );
        const expected = reference?.slice(1).filter((value) => value !== undefined && value !== '');
        const found = match(template, path);
        expect(
          typeof found === 'object'
            ? Object.keys(found)
                .toSorted()
                .map((name) => found[name])
            : found,
        ).toEqual(expected);
      }),
      { numRuns: 3_000 },
    );
  });

  it('comes to an end, whatever the path', () => {
    for (const template of ['{a}a{b}a{c}a{d}', '{a}-{b}.{c?}', '{*x}', '{v:regex(^(a+)+$)}'])
      for (const path of ['a'.repeat(8_000), 'a/'.repeat(4_000), '%61'.repeat(2_600), '-.'.repeat(4_000)])
        expect(() => match(template, `/${path}`)).not.toThrow();
  });
});

describe('leadingLiterals', () => {
  it.each([
    ['Api/Orders/{id}/lines', ['api', 'orders']],
    ['api/orders', ['api', 'orders']],
    ['api/orders{suffix}', ['api']],
    ['{*rest}', []],
  ])('of %s are the segments before the first parameter', (text, literals) => {
    const parsed = parseRouteTemplate(text);
    expect('template' in parsed && leadingLiterals(parsed.template)).toEqual(literals);
  });
});
