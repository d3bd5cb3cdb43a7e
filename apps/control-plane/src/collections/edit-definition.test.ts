import type { CollectionDefinition } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { patchDefinition, replaceDefinition, withChangedField, withField, withoutField } from './edit-definition.js';

const before: CollectionDefinition = {
  name: 'orders',
  displayName: 'Orders',
  fields: [
    { name: 'a', type: 'STRING' },
    { name: 'b', type: 'STRING' },
  ],
  uniqueSets: [['a', 'b']],
  indexes: [['-b', 'a']],
  displayField: 'b',
};

describe('edits of a definition', () => {
  it('give a definition the name of its path, and rename the collection to another name', () => {
    expect(replaceDefinition('orders', { fields: [] })).toEqual({ input: { name: 'orders', fields: [] } });
    expect(replaceDefinition('orders', { name: 'x' })).toEqual({ input: { name: 'x', formerName: 'orders' } });
    expect(replaceDefinition('orders', { name: 'x', formerName: 'y' }).input).toEqual({
      name: 'x',
      formerName: 'orders',
    });
    expect(replaceDefinition('orders', 7)).toEqual({ input: 7 });
  });

  it('replace single properties and remove those that are null', () => {
    expect(patchDefinition(before, { displayName: null, history: true }).input).toEqual({
      ...Object.fromEntries(Object.entries(before).filter(([name]) => name !== 'displayName')),
      history: true,
    });
  });

  it('rename a collection, also where its own fields refer to it', () => {
    const parent = { name: 'parent', type: 'LOOKUP' as const, references: { collection: 'orders' } };
    expect(patchDefinition({ ...before, fields: [parent] }, { name: 'purchases' }).input).toEqual({
      ...before,
      name: 'purchases',
      formerName: 'orders',
      fields: [{ ...parent, references: { collection: 'purchases' } }],
    });
  });

  it('add a field at the end, and say where the body stands', () => {
    const { input, bodyAt } = withField(before, { name: 'c', type: 'STRING' });
    expect(bodyAt).toBe('/fields/2');
    expect((input as CollectionDefinition).fields.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('rename a field wherever the definition names it', () => {
    const { input, bodyAt } = withChangedField(before, 'b', { name: 'c', type: 'TEXT' });
    expect(bodyAt).toBe('/fields/1');
    expect(input).toEqual({
      ...before,
      fields: [before.fields[0], { name: 'c', type: 'TEXT', formerName: 'b' }],
      uniqueSets: [['a', 'c']],
      indexes: [['-c', 'a']],
      displayField: 'c',
    });
    expect(withChangedField(before, 'b', { type: 'TEXT' }).input).toMatchObject({
      fields: [{ name: 'a' }, { name: 'b', type: 'TEXT' }],
      displayField: 'b',
    });
  });

  it('remove a field, and suggest a similar one in place of an unknown one', () => {
    expect((withoutField(before, 'a').input as CollectionDefinition).fields).toEqual([before.fields[1]]);
    const long = { ...before, fields: [{ name: 'customer', type: 'STRING' as const }] };
    expect(() => withoutField(long, 'custmer')).toThrow('Did you mean "customer"?');
  });
});
