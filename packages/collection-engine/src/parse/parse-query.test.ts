import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultRecordLimits } from '../request/record-context.js';
import { parseRecordQuery, type QueryFamily, type RecordQuery } from './parse-query.js';

const takes: readonly QueryFamily[] = [
  ...(['filter', 'sort', 'fields', 'include', 'page', 'count', 'deleted', 'search', 'group', 'agg', 'having'] as const),
];
const parse = (query: string): RecordQuery =>
  parseRecordQuery(query, { takes, own: ['max_affected'] }, defaultRecordLimits);
const condition = (path: string, operator: string, ...values: unknown[]) => ({
  kind: 'condition',
  path: path.split('.'),
  operator,
  values,
  parameter: expect.any(String) as string,
});

describe('a query string', () => {
  it.each([
    ['filter[a][eq]=1', condition('a', 'eq', '1')],
    ['filter[a]=1', condition('a', 'eq', '1')],
    ['filter[a][_neq]=x', condition('a', 'neq', 'x')],
    ['filter[a][$in]=x,y', condition('a', 'in', 'x', 'y')],
    ['filter[a][in][]=x,y&filter[a][in][]=z', condition('a', 'in', 'x,y', 'z')],
    ['filter[a][in][0]=x,y', condition('a', 'in', 'x,y')],
    ['filter={"a":{"in":["x,y"]}}', condition('a', 'in', 'x,y')],
    ['filter={"a":["x",5]}', condition('a', 'in', 'x', 5)],
    ['filter[b.c][gt]=1', condition('b.c', 'gt', '1')],
    ['filter[b][c][gt]=1', condition('b.c', 'gt', '1')],
    ['filter[or][eq]=1', condition('or', 'eq', '1')],
    ['filter[not][eq][gt]=1', { kind: 'not', node: condition('eq', 'gt', '1') }],
    [
      'filter[or][0][a]=1&filter[or][1][b]=2',
      { kind: 'or', nodes: [condition('a', 'eq', '1'), condition('b', 'eq', '2')] },
    ],
    ['filter[or][a]=1&filter[or][b]=2', { kind: 'or', nodes: [condition('a', 'eq', '1'), condition('b', 'eq', '2')] }],
    ['filter[a][gt]=1&filter[a][lt]=2', { kind: 'and', nodes: [condition('a', 'gt', '1'), condition('a', 'lt', '2')] }],
    ['filter[__proto__][constructor]=1', condition('__proto__.constructor', 'eq', '1')],
    ['filter={"__proto__":{"eq":1}}', condition('__proto__', 'eq', 1)],
  ])('has the filter %s', (query, filter) => {
    expect(parse(query).filter).toEqual(filter);
  });

  it.each([
    ['fliter[a]=1', 'fliter[a]', 'Did you mean "filter"?'],
    ['filter[a=1', 'filter[a', 'brackets'],
    ['filter={"a":', 'filter', 'not a JSON object'],
    ['filter={"a":{}}', 'filter', 'no value'],
    ['filter={"a":{"in":[]}}', 'filter', 'no value'],
    ['filter[or]=1', 'filter[or]', 'needs conditions'],
    ['filter[]=1', 'filter[]', 'empty name'],
    [`filter=${'{"not":'.repeat(30)}{"a":1}${'}'.repeat(30)}`, 'filter', 'levels deep'],
    ['filter[a]=%00', 'filter[a]', 'NUL'],
    ['sort=a,,b', 'sort', 'empty name'],
    ['sort=a&sort=b', 'sort', 'once'],
    ['page[size]=0', 'page[size]', 'whole number from 1'],
    ['page[siez]=1', 'page[siez]', 'Use one of: size'],
    ['page[number]=1&page[after]=x', 'page[after]', 'not both'],
    ['count=all', 'count', 'Use one of: exact, planned, none'],
    ['deleted=onyl', 'deleted', 'Use one of: without, with, only'],
    ['agg[total]=summe', 'agg[total]', 'Use one of: count, countDistinct, sum'],
    ['agg=count', 'agg', 'agg[*]=count'],
    ['group=a:moth', 'group', 'Did you mean "month"?'],
    ['max_affected[x]=1', 'max_affected[x]', 'without brackets'],
    ['shape=flet', 'shape', 'Did you mean "flat"?'],
    ['shape=flat&shape=jsonapi', 'shape', 'once'],
  ])('is refused: %s', (query, parameter, detail) => {
    const error = expect.objectContaining({
      code: 'INVALID_QUERY',
      status: 400,
      details: {
        problems: [
          expect.objectContaining({ source: { parameter }, detail: expect.stringContaining(detail) as string }),
        ],
      },
    }) as Error;
    expect(() => parse(query)).toThrow(error);
  });

  it.each([
    ['page[size]=1001', '1001 as page[size]; the limit is 1000'],
    ['page[number]=5000&page[size]=100', 'records before the page'],
    ['include=a.b.c.d', '4 levels in "include"; the limit is 3'],
    [`filter[a][in]=${Array.from({ length: 201 }, (_, index) => index).join(',')}`, '201 values'],
    [Array.from({ length: 51 }, (_, index) => `filter[a${index}]=1`).join('&'), '51 filter conditions'],
    [`sort=${'abcdefghi'.split('').join(',')}`, '9 fields in "sort"; the limit is 8'],
  ])('exceeds a limit that the error names: %#', (query, message) => {
    expect(() => parse(query)).toThrow(
      expect.objectContaining({
        code: 'RECORD_LIMIT_EXCEEDED',
        status: 400,
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });

  it('of random bytes is parsed or refused, never anything else', () => {
    const name = fc
      .constantFrom(...takes, 'shape', 'x')
      .chain((family) =>
        fc
          .array(
            fc.oneof(
              fc.constantFrom('or', 'and', 'not', '0', 'eq', 'in', '', '*', 'size', 'after', '__proto__'),
              fc.string({ unit: 'binary' }),
            ),
            { maxLength: 4 },
          )
          .map((keys) => family + keys.map((key) => `[${key}]`).join('')),
      );
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.constantFrom('a,b', '1', 'true'));
    const random = fc
      .array(fc.tuple(name, value), { maxLength: 4 })
      .map((pairs) => new URLSearchParams(pairs).toString());
    fc.assert(
      fc.property(fc.oneof(random, fc.string({ unit: 'binary' })), (query) => {
        try {
          parse(query);
        } catch (error) {
          expect(error).toMatchObject({
            status: 400,
            code: expect.stringMatching(/^(?:INVALID_QUERY|RECORD_LIMIT_EXCEEDED)$/) as string,
          });
        }
      }),
      { numRuns: 300 },
    );
  });
});
