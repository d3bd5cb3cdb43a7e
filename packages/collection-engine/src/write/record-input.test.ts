import { describe, expect, it } from 'vitest';
import { testCollection } from '../testing/index.js';
import { readRecordInputs } from './record-input.js';

const orders = testCollection({
  name: 'orders',
  fields: [
    { name: 'title', type: 'STRING' },
    { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
  ],
});
const blobs = testCollection({ name: 'blobs', fields: [{ name: 'data', type: 'JSON' }] });

const anyCount = (): void => undefined;

const read = (body: unknown, collection = orders) => {
  const { isArray, inputs } = readRecordInputs(body, collection, anyCount);
  return { isArray, values: inputs.map(({ values }) => values), at: inputs.map((input) => input.pointer('title')) };
};
const pointersOf = (body: unknown): string[] => {
  try {
    readRecordInputs(body, orders, anyCount);
    return [];
  } catch (error) {
    const { details } = error as { details: { problems: { source: { pointer: string } }[] } };
    return details.problems.map(({ source }) => source.pointer);
  }
};

describe('the body of a write', () => {
  it('is a JSON:API document, a plain object, or an array of either', () => {
    const resource = { type: 'orders', attributes: { title: 'a' } };
    expect(read({ data: resource })).toEqual({
      isArray: false,
      values: [{ title: 'a' }],
      at: ['/data/attributes/title'],
    });
    expect(read({ data: [resource] })).toEqual({
      isArray: true,
      values: [{ title: 'a' }],
      at: ['/data/0/attributes/title'],
    });
    expect(read({ title: 'a' })).toEqual({ isArray: false, values: [{ title: 'a' }], at: ['/title'] });
    expect(read([{ title: 'a' }, resource])).toEqual({
      isArray: true,
      values: [{ title: 'a' }, { title: 'a' }],
      at: ['/0/title', '/1/attributes/title'],
    });
  });

  it('may be a plain object with a field "data"', () => {
    expect(read({ data: { type: 5 } }, blobs).values).toEqual([{ data: { type: 5 } }]);
    expect(read({ data: { type: 'blobs', attributes: { data: 1 } } }, blobs).values).toEqual([{ data: 1 }]);
  });

  it('takes relations as ids, as null and with their pointer', () => {
    const relation = (data: unknown) => ({ data: { type: 'orders', relationships: { customer: { data } } } });
    expect(read(relation({ type: 'customers', id: '5' })).values).toEqual([{ customer: '5' }]);
    expect(read(relation(null)).values).toEqual([{ customer: null }]);
    expect(pointersOf(relation({ type: 'orders', id: '5' }))).toEqual(['/data/relationships/customer/data/type']);
    expect(pointersOf(relation({ type: 'customers', lid: 'x' }))).toEqual(['/data/relationships/customer/data/lid']);
    expect(pointersOf(relation([]))).toEqual(['/data/relationships/customer/data']);
  });

  it('is refused with all that is wrong with its structure', () => {
    expect(pointersOf('x')).toEqual(['']);
    expect(pointersOf({ data: null })).toEqual(['/data']);
    expect(pointersOf({ data: { type: 'others', 'a/b': 1, attributes: {} } })).toEqual(['/data/a~1b', '/data/type']);
    expect(pointersOf({ data: { attributes: [], id: 5 } })).toEqual(['/data/attributes']);
    expect(pointersOf({ data: { relationships: { title: { data: null } } } })).toEqual(['/data/relationships/title']);
  });

  it('is not read on after a hundred problems', () => {
    const body = Array.from({ length: 1_000 }, () => 0);
    expect(pointersOf(body)).toHaveLength(100);
    expect(pointersOf(body.slice(0, 99))).toHaveLength(99);
  });

  it('is counted before its records are read', () => {
    const tooMany = (records: number): void => {
      throw new RangeError(`${records} records`);
    };
    expect(() => readRecordInputs([0, 0], orders, tooMany)).toThrow('2 records');
    expect(() => readRecordInputs({ data: [0, 0, 0] }, orders, tooMany)).toThrow('3 records');
    expect(() => readRecordInputs({ data: [0, 0] }, blobs, tooMany)).not.toThrow();
  });
});
