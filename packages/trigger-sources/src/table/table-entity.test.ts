import { describe, expect, it } from 'vitest';
import { entityToJson, parseEntity } from './table-entity.js';
import { toTransactions } from './table-output.js';
import { tableOptions } from './table-options.js';

const noKeys = { partitionKey: undefined, rowKey: undefined };
const keys = '"PartitionKey":"p","RowKey":"r"';

describe('an entity of a function', () => {
  it.each([
    ['"text"', { type: 'String', value: 'text' }],
    ['"2030-01-01T00:00:00Z"', { type: 'String', value: '2030-01-01T00:00:00Z' }],
    ['5', { type: 'Int64', value: '5' }],
    ['-9007199254740993', { type: 'Int64', value: '-9007199254740993' }],
    ['9223372036854775807', { type: 'Int64', value: '9223372036854775807' }],
    ['9223372036854775808', { type: 'Double', value: 9223372036854775808 }],
    ['1.5', { type: 'Double', value: 1.5 }],
    ['1e300', { type: 'Double', value: 1e300 }],
    ['1.12345678901234567', { type: 'Double', value: 1.1234567890123457 }],
    ['"12345678901234567890"', { type: 'String', value: '12345678901234567890' }],
    ['true', { type: 'Boolean', value: true }],
    ['{"a":[1]}', { type: 'String', value: '{\n  "a": [\n    1\n  ]\n}' }],
  ])('has the types of the official extension: %s', (json, value) => {
    expect(parseEntity(`{${keys},"Value":${json}}`, noKeys)).toEqual({
      value: { partitionKey: 'p', rowKey: 'r', etag: undefined, properties: { Value: value } },
    });
  });

  it('leaves null out, and knows its keys in any case', () => {
    expect(parseEntity('{"partitionkey":"p","ROWKEY":"r","Gone":null,"eTag":"*"}', noKeys)).toEqual({
      value: { partitionKey: 'p', rowKey: 'r', etag: '*', properties: {} },
    });
  });

  it('takes keys that it lacks from the binding', () => {
    const bound = { partitionKey: 'bound', rowKey: 'row' };
    expect(parseEntity('{"RowKey":"own"}', bound)).toMatchObject({ value: { partitionKey: 'bound', rowKey: 'own' } });
  });

  it.each([
    ['[1]', 'is not a JSON object'],
    ['text', 'is not a JSON object: text'],
    ['{"RowKey":"r"}', 'has no PartitionKey. Set it on the entity or the binding'],
    ['{"PartitionKey":"p"}', 'has no RowKey'],
    ['{"PartitionKey":"p","RowKey":5}', 'has the RowKey 5, not a string'],
    ['{"PartitionKey":"a/b","RowKey":"r"}', 'has the PartitionKey "a/b" with one of the characters'],
    [`{${keys},"ETag":5}`, 'has the ETag 5, not a string'],
  ])('is refused: %s', (json, problem) => {
    expect(parseEntity(json, noKeys)).toEqual({ problem: expect.stringContaining(problem) });
  });
});

describe('an entity for a function', () => {
  it('has the shape of the official extension', () => {
    const json = entityToJson({
      'odata.metadata': 'x',
      etag: 'W/"1"',
      partitionKey: 'p',
      rowKey: '"r"',
      timestamp: 'now',
      Text: { type: 'String', value: 'a' },
      Age: { type: 'Int32', value: '30' },
      Big: { type: 'Int64', value: '9223372036854775807' },
      Share: { type: 'Double', value: '0.5' },
      Tiny: { type: 'Double', value: '1e-7' },
      Odd: { type: 'Double', value: 'NaN' },
      IsOpen: { type: 'Boolean', value: 'true' },
      At: { type: 'DateTime', value: '2030-01-01T00:00:00.1230000Z' },
      On: { type: 'DateTime', value: '2030-01-01T00:00:00Z' },
      Id: { type: 'Guid', value: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' },
      Raw: { type: 'Binary', value: 'AAE=' },
    });
    expect(json).toBe(
      '{"PartitionKey":"p","RowKey":"\\"r\\"","Text":"a","Age":30,"Big":9223372036854775807,"Share":0.5,"Tiny":1e-7,' +
        '"Odd":"NaN","IsOpen":true,"At":"2030-01-01T00:00:00.123+00:00","On":"2030-01-01T00:00:00+00:00",' +
        '"Id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","Raw":"AAE="}',
    );
  });
});

describe('transactions', () => {
  const entity = (partitionKey: string, rowKey: string) => ({ partitionKey, rowKey, etag: undefined, properties: {} });
  const shape = (...entities: readonly ReturnType<typeof entity>[]) =>
    toTransactions(entities).map((one) => one.map(({ partitionKey, rowKey }) => `${partitionKey}${rowKey}`));

  it('hold one partition each, in order, and no row twice', () => {
    expect(shape(entity('a', '1'), entity('b', '1'), entity('a', '2'), entity('a', '1'), entity('a', '3'))).toEqual([
      ['a1', 'a2'],
      ['b1'],
      ['a1', 'a3'],
    ]);
  });

  it('hold a hundred entities at most', () => {
    const many = Array.from({ length: 250 }, (_, n) => entity('a', String(n)));
    expect(toTransactions(many).map(({ length }) => length)).toEqual([100, 100, 50]);
  });
});

describe('the options of a table binding', () => {
  const options = (binding: object, kind: 'input' | 'output' = 'input') =>
    tableOptions({ functionName: 'f', binding }, kind);

  it('read one entity with a row key, and a list without', () => {
    expect(options({ tableName: 'people', partitionKey: 'p', rowKey: '' })).toMatchObject({ rowKey: '' });
    expect(options({ tableName: 'people', filter: '', take: '5' })).toEqual({
      tableName: 'people',
      partitionKey: undefined,
      rowKey: undefined,
      filter: undefined,
      take: 5,
    });
  });

  it.each([
    [{}, 'needs a tableName'],
    [{ tableName: 'a-b' }, 'tableName must be 3 to 63 letters and digits'],
    [{ tableName: 'people', rowKey: 'r' }, 'has a rowKey, so it needs a partitionKey'],
    [{ tableName: 'people', partitionKey: 'p', rowKey: 'r', take: 1 }, 'remove filter and take'],
    [{ tableName: 'people', take: -1 }, 'take must be a whole number'],
  ])('are refused: %j', (binding, problem) => {
    expect(() => options(binding)).toThrow(problem);
  });
});
