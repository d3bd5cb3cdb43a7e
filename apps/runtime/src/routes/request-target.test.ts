import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuery, pathSegments, splitTarget } from './request-target.js';

describe('splitTarget', () => {
  it.each([
    ['/a/b?c=d', '/a/b', 'c=d'],
    ['/', '/', ''],
    ['/?', '/', ''],
    ['/a?b?c', '/a', 'b?c'],
    ['/a#b?c', '/a', ''],
    ['/a?b#c', '/a', 'b'],
    ['http://host:80/a?b', '/a', 'b'],
    ['HTTPS://host', '/', ''],
    ['//evil/a', '//evil/a', ''],
  ])('%s is %s and %s', (url, path, query) => {
    expect(splitTarget(url)).toEqual({ path, query });
  });

  it.each(['*', '', 'ftp://x/y', 'host:443', 'a/b'])('"%s" is no path', (url) => {
    expect(splitTarget(url)).toBeUndefined();
  });
});

describe('pathSegments', () => {
  it.each([
    ['/', []],
    ['/a/b', ['a', 'b']],
    ['/a/', ['a']],
    ['/a//b', ['a', '', 'b']],
    ['//a', ['', 'a']],
    ['/A%20b', ['A b']],
    ['/a%2Fb%2fc', ['a%2Fb%2fc']],
    ['/%C3%A9', ['é']],
    ['/%zz%41/%41%E9', ['%zzA', '%41%E9']],
    ['/%', ['%']],
    ['/%252e%252e', ['%2e%2e']],
    ['/...', ['...']],
  ])('%s is %j', (path, segments) => {
    expect(pathSegments(path)?.segments).toEqual(segments);
  });

  it.each(['/..', '/a/../b', '/./a', '/%2e%2e/a', '/%2E', '/.%2e/x', '/a%00b', '/a%0d%0ab', '/a\u007f'])(
    '%s is refused',
    (path) => {
      expect(pathSegments(path)).toBeUndefined();
    },
  );

  it('never throws, and gives back what was encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(() => [pathSegments(`/${text}`), parseQuery(text)]).not.toThrow();
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
        const found = pathSegments(`/${encodeURIComponent(text)}`);
        if (found && !text.includes('/')) expect(found.segments).toEqual([text]);
      }),
    );
  });
});

describe('parseQuery', () => {
  it.each([
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&a=2&a=', { a: '1,2,' }],
    ['a', { a: '' }],
    ['a=b=c', { a: 'b=c' }],
    ['a+b=c+d%2B', { 'a b': 'c d+' }],
    ['&&a=1&', { a: '1' }],
    ['=x', { '': 'x' }],
    ['a=%zz%20', { a: '%zz ' }],
    ['__proto__=x&constructor=y&__proto__=z', { ['__proto__']: 'x,z', constructor: 'y' }],
  ])('%s is %j', (query, expected) => {
    expect(Object.entries(parseQuery(query))).toEqual(Object.entries(expected));
    expect({}).not.toHaveProperty('x');
  });
});
