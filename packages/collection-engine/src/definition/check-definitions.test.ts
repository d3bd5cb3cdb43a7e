import type { CollectionDefinition, FieldDefinition } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { checkDefinitions } from './check-definitions.js';

const total: FieldDefinition = {
  name: 'total',
  type: 'ROLLUP_SUMMARY',
  rollup: { collection: 'lines', via: 'order', function: 'SUM', field: 'amount' },
};
const amount: FieldDefinition = { name: 'amount', type: 'DOUBLE' };
const order: FieldDefinition = { name: 'order', type: 'MASTER_DETAIL', references: { collection: 'orders' } };
const orders: CollectionDefinition = { name: 'orders', fields: [total] };
const lines: CollectionDefinition = { name: 'lines', fields: [order, amount] };

const stored = (...definitions: CollectionDefinition[]) => new Map(definitions.map((one) => [one.name, one] as const));
const check = (inputs: readonly unknown[], before = stored()) =>
  checkDefinitions(inputs, before, { canEncrypt: false });
const problems = (...given: Parameters<typeof check>) => {
  const checked = check(...given);
  return 'problems' in checked ? checked.problems : [];
};

describe('checkDefinitions', () => {
  it('lets definitions of one set refer to each other, as users write them', () => {
    const written = [
      { ...orders, fields: [{ ...total, type: 'rollup' }] },
      {
        ...lines,
        fields: [
          { ...order, type: 'master-detail' },
          { ...amount, type: 'number' },
        ],
      },
    ];
    const checked = check(written);
    expect(checked).toMatchObject({
      definitions: [
        { fields: [{ type: 'ROLLUP_SUMMARY' }] },
        { fields: [{ type: 'MASTER_DETAIL' }, { type: 'DOUBLE' }] },
      ],
    });
    expect(problems([lines])).toMatchObject([{ index: 0, pointer: '/fields/0/references/collection' }]);
  });

  it('says which definition of the set a problem belongs to, also beside one without any shape', () => {
    const found = problems([orders, 7, { ...lines, fields: [order, { name: 'amount', type: 'STRNG' }] }]);
    expect(found.map(({ index }) => index)).toEqual(expect.arrayContaining([1, 2]));
    expect(found.find(({ index }) => index === 2)).toMatchObject({ pointer: '/fields/1/type' });
  });

  it('refuses a name that is there twice', () => {
    expect(problems([lines, orders, lines])).toEqual([
      expect.objectContaining({ index: 2, pointer: '/name', message: expect.stringContaining('"lines"') }),
    ]);
  });

  it('refuses a change that a stored collection does not survive, unless both change', () => {
    const before = stored(orders, lines);
    const shorter = { ...lines, fields: [order] };
    expect(problems([shorter], before)).toEqual([
      expect.objectContaining({ index: 0, message: expect.stringMatching(/"orders" .*\/fields\/0\/rollup/) }),
    ]);
    expect(check([shorter, { ...orders, fields: [] }], before)).toMatchObject({ definitions: [{}, {}] });
    expect(check([{ ...lines, fields: [order, amount, { name: 'note', type: 'TEXT' }] }], before)).toMatchObject({
      definitions: [{ name: 'lines' }],
    });
  });

  it('does not mind what was wrong with a stored collection before', () => {
    const broken = stored({ ...orders, fields: [total, { name: 'secret', type: 'ENCRYPTED' }] }, lines);
    expect(check([{ ...lines, displayName: 'Lines' }], broken)).toMatchObject({ definitions: [{ name: 'lines' }] });
  });

  it('renames a collection, and everything that refers to it', () => {
    const before = stored(orders, lines);
    const purchases = { ...orders, name: 'purchases', formerName: 'orders' };
    expect(check([purchases], before)).toMatchObject({
      definitions: [{ name: 'purchases', formerName: 'orders' }],
      followers: [{ name: 'lines', fields: [{ references: { collection: 'purchases' } }, { name: 'amount' }] }],
    });
    const items = { ...lines, name: 'items', formerName: 'lines' };
    expect(check([items], before)).toMatchObject({
      followers: [{ name: 'orders', fields: [{ rollup: { collection: 'items' } }] }],
    });
  });

  it('lets the definitions of a set use the new name, and a new collection the old one', () => {
    const before = stored(orders, lines);
    const purchases = { ...orders, name: 'purchases', formerName: 'orders' };
    const given = { ...lines, fields: [{ ...order, references: { collection: 'purchases' } }, amount] };
    expect(check([purchases, given, { name: 'orders', fields: [] }], before)).toMatchObject({
      definitions: [{}, {}, {}],
      followers: [],
    });
    expect(problems([purchases, lines], before)).toContainEqual(
      expect.objectContaining({ index: 1, pointer: '/fields/0/references/collection' }),
    );
  });

  it('applies a file again that has renamed a collection, and to a platform that has not had it', () => {
    const renamed = { name: 'purchases', formerName: 'orders', fields: [] };
    for (const before of [stored(), stored({ name: 'purchases', fields: [] })]) {
      const checked = check([renamed], before);
      expect('definitions' in checked && checked.definitions[0]).not.toHaveProperty('formerName');
    }
  });

  it('refuses a rename to a name that another collection has, and two of one collection', () => {
    const before = stored({ name: 'a', fields: [] }, { name: 'b', fields: [] });
    expect(problems([{ name: 'b', formerName: 'a', fields: [] }], before)).toMatchObject([{ pointer: '/formerName' }]);
    const both = [
      { name: 'c', formerName: 'a', fields: [] },
      { name: 'd', formerName: 'a', fields: [] },
    ];
    expect(problems(both, before)).toMatchObject([{ index: 1 }]);
    expect(problems([{ name: 'c', formerName: 7, fields: [] }], before)).toMatchObject([{ pointer: '/formerName' }]);
  });
});
