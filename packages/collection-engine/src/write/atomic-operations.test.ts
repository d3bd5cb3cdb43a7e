import { describe, expect, it } from 'vitest';
import { readAtomicOperations } from './atomic-operations.js';

/** JavaScript cannot turn it into a text or a number. */
const unconvertible = { toString: {} };
const update = { op: 'update', ref: { type: 'orders', id: '1' }, data: {} };

describe('readAtomicOperations', () => {
  it('reads the collection, the record and the version of an operation', () => {
    expect(readAtomicOperations({ 'atomic:operations': [{ ...update, meta: { version: 3 } }] }, 1)).toEqual([
      {
        op: 'update',
        collection: 'orders',
        ref: { id: '1', lid: undefined },
        data: {},
        expected: 3,
        at: '/atomic:operations/0',
        typeAt: '/atomic:operations/0/ref/type',
      },
    ]);
  });

  it.each([
    ['op', { ...update, op: unconvertible }, '/atomic:operations/0/op'],
    ['type', { ...update, ref: { type: unconvertible, id: '1' } }, '/atomic:operations/0/data/type'],
    ['id', { ...update, ref: { type: 'orders', id: unconvertible } }, '/atomic:operations/0/ref'],
    ['version', { ...update, meta: { version: unconvertible } }, '/atomic:operations/0/meta'],
  ])('names the place of any %s that cannot be one', (_, operation, pointer) => {
    expect(() => readAtomicOperations({ 'atomic:operations': [operation] }, 1)).toThrow(
      expect.objectContaining({
        status: 400,
        details: { problems: [expect.objectContaining({ source: { pointer } })] },
      }),
    );
  });
});
