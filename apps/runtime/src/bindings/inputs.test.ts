import { describe, expect, it } from 'vitest';
import { definitionOf } from './definition.test.fixture.js';
import { compileInputs } from './inputs.js';

const trigger = { name: 'item', type: 'queueTrigger', direction: 'in', queueName: 'in' };
const context = { now: () => Date.UTC(2030, 0, 2), uuid: () => 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' };
const compiled = (...bindings: readonly object[]) => compileInputs(definitionOf('f', trigger, ...bindings));
const planned = (binding: object, data: Readonly<Record<string, unknown>> = {}) => {
  const read = compiled(binding);
  if ('problem' in read) throw new Error(read.problem);
  return read.value.plan(() => data, context)[0]?.options;
};

describe('compileInputs', () => {
  it('evaluates the expressions of all options, and leaves the others as they are', () => {
    const blob = {
      name: 'b',
      type: 'blob',
      direction: 'in',
      path: '{box}/{rand-guid}/{DateTime:yyyy-MM}',
      connection: 'Shop',
    };
    expect(planned(blob, { box: 'in' })).toMatchObject({
      path: 'in/f81d4fae-7dec-11d0-a765-00a0c91e6bf6/2030-01',
      connection: 'Shop',
    });
  });

  it('asks for the data of the trigger only if an expression needs it', () => {
    const read = compiled({ name: 'b', type: 'blob', direction: 'in', path: 'box/{rand-guid}' });
    const plan = (): unknown => 'value' in read && read.value.plan(() => expect.fail('it asked'), context);
    expect(plan).not.toThrow();
  });

  it('has no plan without inputs, nor for inputs that are not supported', () => {
    const cosmos = { name: 'c', type: 'cosmosDB', direction: 'in' };
    const definition = definitionOf('f', trigger, cosmos);
    const read = compileInputs(definition, definition.inputs);
    expect('value' in read && read.value.isEmpty).toBe(true);
  });

  it('refuses a template that cannot be read', () => {
    expect(compiled({ name: 'b', type: 'blob', direction: 'in', path: 'box/{name' })).toEqual({
      problem: expect.stringContaining('binding "b": its path has a brace without its counterpart'),
    });
  });

  it.each([
    ["RowKey eq '{key}'", "o'neil", "RowKey eq 'o''neil'"],
    ["RowKey eq '{key}'", "' or RowKey ne '", "RowKey eq ''' or RowKey ne '''"],
    ["Name eq 'it''s {key}' and Age gt 5", 'x', "Name eq 'it''s x' and Age gt 5"],
    ['Age gt {key}', '5', 'Age gt 5'],
    ['Age gt {key}', -1.5, 'Age gt -1.5'],
    ['IsOpen eq {key}', true, 'IsOpen eq true'],
    ['Id eq {key}', "guid'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'", "Id eq guid'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'"],
  ])('puts a value into the filter of a table so that it stays a value: %s, %s', (filter, key, expected) => {
    const table = { name: 't', type: 'table', direction: 'in', tableName: 'people', filter };
    expect(planned(table, { key })).toMatchObject({ filter: expected });
  });

  it('puts a value into the query of a collection so that it adds no parameter', () => {
    const query = 'filter[name][eq]={key}&sort=name';
    const collection = { name: 'c', type: 'collection', direction: 'in', collection: 'people', query };
    expect(planned(collection, { key: 'a&page[size]=9' })).toMatchObject({
      query: 'filter[name][eq]=a%26page%5Bsize%5D%3D9&sort=name',
    });
  });

  it.each(['5 or true', "x' or '", 'Name', "guid'' or ''"])(
    'refuses a text outside of quotes in a filter: %s',
    (key) => {
      const table = { name: 't', type: 'table', direction: 'in', tableName: 'people', filter: 'Age gt {key}' };
      expect(() => planned(table, { key })).toThrow('is a text, which needs quotes around it in a filter');
    },
  );

  it('encodes nothing in other options, nor in filters of other types', () => {
    const table = { name: 't', type: 'table', direction: 'in', tableName: 'people', partitionKey: '{key}' };
    expect(planned(table, { key: "o'neil" })).toMatchObject({ partitionKey: "o'neil" });
    expect(planned({ name: 'x', type: 'other', direction: 'in', filter: '{key}' }, { key: "o'neil" })).toMatchObject({
      filter: "o'neil",
    });
  });
});
