import type { CollectionDefinition } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { checkDefinition, type DefinitionContext } from './check-definition.js';

const customers: CollectionDefinition = { name: 'customers', fields: [{ name: 'name', type: 'STRING' }] };
const context = (more: Partial<DefinitionContext> = {}): DefinitionContext => ({
  collections: new Map([[customers.name, customers]]),
  before: undefined,
  canEncrypt: true,
  ...more,
});

function problemsOf(input: unknown, more: Partial<DefinitionContext> = {}): string[] {
  const checked = checkDefinition(input, context(more));
  return 'problems' in checked ? checked.problems.map(({ pointer, message }) => `${pointer} ${message}`) : [];
}

const withFields = (...fields: readonly object[]): unknown => ({ name: 'orders', fields });
const field = (more: object): unknown => withFields({ name: 'a', ...more });

describe('a definition', () => {
  it('is stored in one form: types in upper case, aliases and defaults of types filled in', () => {
    const input = {
      name: 'orders',
      storageMode: 'jsonb',
      fields: [
        { name: 'n', type: 'number', defaultValue: 5 },
        { name: 'meta', type: 'object' },
        { name: 'notes', type: 'rich-text' },
        { name: 'customer', type: 'reference', referenceTarget: 'customers' },
        { name: 'owner', type: 'master_detail', references: { collection: 'customers', as: 'owned' } },
        { name: 'key', type: 'external_id' },
      ],
      validationRules: [],
    };
    expect(checkDefinition(input, context())).toEqual({
      definition: {
        name: 'orders',
        storageMode: 'JSONB',
        fields: [
          { name: 'n', type: 'DOUBLE', default: 5 },
          { name: 'meta', type: 'JSON' },
          { name: 'notes', type: 'RICH_TEXT' },
          { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
          {
            name: 'owner',
            type: 'MASTER_DETAIL',
            required: true,
            references: { collection: 'customers', as: 'owned' },
          },
          { name: 'key', type: 'EXTERNAL_ID', unique: true },
        ],
        validationRules: [],
      },
    });
  });

  it('is the same when it is checked again', () => {
    const first = checkDefinition(field({ type: 'string', required: true }), context());
    expect('definition' in first && checkDefinition(first.definition, context())).toEqual(first);
  });

  it.each(['order', 'user', 'größe', '注文', 'a-b', '_x', 'x'.repeat(63), 'é'.repeat(31)])(
    'may use the name %s',
    (name) => {
      expect(problemsOf({ name, fields: [{ name, type: 'STRING', displayName: 'Any “text” — 🚀' }] })).toEqual([]);
    },
  );

  it('reports all problems at once, each with its place', () => {
    const problems = problemsOf({
      name: 'orders',
      feilds: [],
      fields: [
        { name: 'a', type: 'strnig' },
        { name: 'b', type: 'STRING', requierd: true },
        { name: 'c', type: 'INTEGER', constraints: { pattern: 'x' } },
      ],
    });
    expect(problems).toEqual([
      '/feilds Property "feilds" is unknown. Did you mean "fields"?',
      expect.stringMatching(/^\/fields\/0\/type Must be one of STRING, .*, not "strnig"\. Did you mean STRING\?$/),
      '/fields/1/requierd Property "requierd" is unknown. Did you mean "required"?',
      '/fields/2/constraints/pattern Fields of type INTEGER have no "pattern". Remove it.',
    ]);
  });

  it.each<[unknown, string]>([
    [undefined, ' Add it: an object.'],
    ['x', ' Must be an object, not "x".'],
    [{ fields: [] }, '/name Add it: a text.'],
    [{ name: 'a b', fields: [] }, '/name "a b" is not allowed. Part of the URL'],
    [{ name: 'operations', fields: [] }, '/name "/api/operations" is a path of the platform. Choose another name.'],
    [
      { name: '__proto__', fields: [] },
      '/name "__proto__" has a meaning of its own in JavaScript. Choose another name.',
    ],
    [
      { name: 'a', fields: [{ name: '__proto__', type: 'STRING' }] },
      '/fields/0/name "__proto__" has a meaning of its own in JavaScript. Choose another name.',
    ],
    [{ name: 'é'.repeat(32), fields: [] }, '/name "éé'],
    [{ name: 'a', fields: {} }, '/fields Must be an array, not {}.'],
    [withFields({ name: 'id', type: 'STRING' }), '/fields/0/name Every record has an attribute "id"'],
    [
      withFields({ name: 'a', type: 'STRING' }, { name: 'a', type: 'STRING' }),
      '/fields/1/name Another field is named "a"',
    ],
    [field({ type: 'PICKLIST' }), '/fields/0/values A field of type PICKLIST needs "values"'],
    [field({ type: 'STRING', values: ['x'] }), '/fields/0/values Only fields of type PICKLIST or MULTI_PICKLIST'],
    [field({ type: 'PICKLIST', values: ['x', 'x'] }), '/fields/0/values Must not have the same item twice.'],
    [field({ type: 'LOOKUP' }), '/fields/0/references A field of type LOOKUP needs "references"'],
    [
      field({ type: 'JSON', unique: true }),
      '/fields/0/unique "a" is of type JSON, which has no order. Remove "unique".',
    ],
    [field({ type: 'ENCRYPTED', indexed: true }), '/fields/0/indexed Values of "a" are encrypted'],
    [field({ type: 'INTEGER', searchable: true }), '/fields/0/searchable Full-text search is for stored texts'],
    [field({ type: 'AUTO_NUMBER', required: true }), '/fields/0/required The platform sets fields of type AUTO_NUMBER'],
    [field({ type: 'EXTERNAL_ID', unique: false }), '/fields/0/unique An EXTERNAL_ID field is always unique'],
    [
      field({ type: 'STRING', constraints: { minLength: 5, maxLength: 2 } }),
      '/fields/0/constraints/minLength 5 is larger',
    ],
    [
      field({ type: 'STRING', constraints: { pattern: '(a' } }),
      '/fields/0/constraints/pattern The regular expression "(a" is invalid: "(" has no ")"',
    ],
    [
      field({ type: 'INTEGER', default: 'x' }),
      '/fields/0/default The default is invalid. Field "a" must be an integer',
    ],
    [
      field({ type: 'INTEGER', default: 5, constraints: { maxValue: 4 } }),
      '/fields/0/default The default is invalid. Field "a" must be at most 4',
    ],
    [field({ type: 'CURRENCY', currency: {} }), '/fields/0/currency Give either "code", or "codeField".'],
    [field({ type: 'CURRENCY', currency: { code: 'XQZ' } }), '/fields/0/currency/code "XQZ" is not a currency'],
    [
      field({ type: 'CURRENCY', currency: { codeField: 'b' } }),
      '/fields/0/currency/codeField Field "b" does not exist.',
    ],
    [{ name: 'a', fields: [], displayField: 'b' }, '/displayField Field "b" does not exist.'],
    [
      { name: 'a', fields: [{ name: 'number', type: 'STRING' }], uniqueSets: [['numbr']] },
      '/uniqueSets/0/0 Field "numbr" does not exist. Did you mean "number"?',
    ],
    [{ name: 'a', fields: [{ name: 'b', type: 'JSON' }], indexes: [['-b']] }, '/indexes/0/0 "b" is of type JSON'],
    [{ name: 'a', fields: [], api: { lst: true } }, '/api/lst Property "lst" is unknown. Did you mean "list"?'],
  ])('with %j is refused', (input, problem) => {
    const problems = problemsOf(input);
    expect(problems.map((text) => text.slice(0, problem.length))).toEqual([problem]);
  });

  it('needs the key of the platform for ENCRYPTED fields', () => {
    expect(problemsOf(field({ type: 'ENCRYPTED' }), { canEncrypt: false })).toEqual([
      expect.stringContaining('Set DROVER_SECRETS_KEY'),
    ]);
    expect(problemsOf(field({ type: 'ENCRYPTED' }))).toEqual([]);
  });
});

describe('relations of a definition', () => {
  const detailOf = (...masters: string[]): object[] =>
    masters.map((collection, index) => ({
      name: `m${index}`,
      type: 'MASTER_DETAIL',
      references: { collection, as: `d${index}` },
    }));

  it('have targets that exist', () => {
    expect(problemsOf(field({ type: 'LOOKUP', references: { collection: 'custmers' } }))).toEqual([
      '/fields/0/references/collection Collection "custmers" does not exist. Did you mean "customers"? Create it first.',
    ]);
    expect(problemsOf(field({ type: 'LOOKUP', references: { collection: 'orders' } }))).toEqual([]);
  });

  it('have at most two masters, never themselves', () => {
    expect(problemsOf(withFields(...detailOf('customers', 'customers')))).toEqual([]);
    expect(problemsOf(withFields(...detailOf('customers', 'customers', 'customers')))).toEqual([
      '/fields 3 fields are MASTER_DETAIL; at most 2 can be. Make the others LOOKUP.',
    ]);
    expect(problemsOf(withFields(...detailOf('orders')))).toEqual([expect.stringContaining('orders → orders')]);
    const detail: CollectionDefinition = {
      name: 'lines',
      fields: [{ name: 'order', type: 'MASTER_DETAIL', references: { collection: 'orders' } }],
    };
    expect(problemsOf(withFields(...detailOf('lines')), { collections: new Map([['lines', detail]]) })).toEqual([
      expect.stringContaining('orders → lines → orders'),
    ]);
  });

  it('have reverse names that are free', () => {
    const references = { collection: 'customers' };
    expect(
      problemsOf(withFields({ name: 'a', type: 'LOOKUP', references }, { name: 'b', type: 'LOOKUP', references })),
    ).toEqual([
      '/fields/1/references/as Collection "customers" already has another reverse relation "orders". Set "as" to another name.',
    ]);
    expect(problemsOf(field({ type: 'LOOKUP', references: { ...references, as: 'name' } }))).toEqual([
      expect.stringContaining('already has a field "name"'),
    ]);
    const orders: CollectionDefinition = { name: 'orders', fields: [{ name: 'a', type: 'LOOKUP', references }] };
    const collections = new Map([['orders', orders]]);
    expect(problemsOf({ name: 'customers', fields: [{ name: 'orders', type: 'STRING' }] }, { collections })).toEqual([
      '/fields/0/name "orders" is the reverse relation of field "a" of collection "orders". Choose another name.',
    ]);
  });
});

describe('a renamed field', () => {
  const before = withFields({ name: 'old', type: 'STRING' }, { name: 'kept', type: 'STRING' }) as CollectionDefinition;
  const renamed = { name: 'new', type: 'STRING', formerName: 'old' };

  it('continues the field that it names', () => {
    const checked = checkDefinition(withFields(renamed), context({ before }));
    expect('definition' in checked && checked.definition.fields[0]?.formerName).toBe('old');
  });

  it('is nothing new when the same file is applied again, or to a platform without the collection', () => {
    for (const version of [withFields({ name: 'new', type: 'STRING' }) as CollectionDefinition, undefined]) {
      const checked = checkDefinition(withFields(renamed), context({ before: version }));
      expect('definition' in checked && checked.definition.fields).toEqual([{ name: 'new', type: 'STRING' }]);
    }
  });

  it.each<[object[], string]>([
    [[{ ...renamed, formerName: 'kep' }], 'In the version before, field "kep" does not exist. Did you mean "kept"?'],
    [[{ ...renamed, name: 'kept' }], 'already has a field "kept"'],
    [[renamed, { name: 'old', type: 'STRING' }], 'Another field continues "old"'],
    [[renamed, { ...renamed, name: 'newer' }], 'Another field continues "old"'],
  ])('%j is refused', (fields, problem) => {
    expect(problemsOf(withFields(...fields), { before })).toEqual([expect.stringContaining(problem)]);
  });
});

describe('computed fields of a definition', () => {
  const lines: CollectionDefinition = {
    name: 'lines',
    fields: [
      { name: 'order', type: 'LOOKUP', references: { collection: 'orders' } },
      { name: 'amount', type: 'DOUBLE' },
      { name: 'note', type: 'STRING' },
      { name: 'gift', type: 'BOOLEAN' },
    ],
  };
  const collections = new Map([['lines', lines]]);
  const summary = (rollup: object): unknown =>
    field({ type: 'ROLLUP_SUMMARY', rollup: { collection: 'lines', via: 'order', ...rollup } });

  it('are checked with their formulas and what they roll up', () => {
    expect(problemsOf(field({ type: 'FORMULA', formula: { expression: '1 + 2', returns: 'DOUBLE' } }))).toEqual([]);
    expect(problemsOf(summary({ function: 'SUM', field: 'amount', where: { gift: true } }), { collections })).toEqual(
      [],
    );
    expect(problemsOf(summary({ function: 'COUNT' }), { collections })).toEqual([]);
  });

  it.each<[unknown, string]>([
    [
      field({ type: 'FORMULA', formula: { expression: 'b + 1', returns: 'DOUBLE' } }),
      '/fields/0/formula/expression Field "b" does not exist (at character 1).',
    ],
    [
      summary({ collection: 'liens', function: 'COUNT' }),
      '/fields/0/rollup/collection Collection "liens" does not exist.',
    ],
    [
      summary({ via: 'note', function: 'COUNT' }),
      '/fields/0/rollup/via "note" is no relation from "lines" to "orders". Its relations there: "order".',
    ],
    [summary({ function: 'COUNT', field: 'amount' }), '/fields/0/rollup/field COUNT counts records. Remove "field".'],
    [
      summary({ function: 'SUM', field: 'note' }),
      '/fields/0/rollup/field SUM needs a field of "lines" that stores numbers: "amount".',
    ],
    [
      summary({ function: 'COUNT', where: { other: 1 } }),
      '/fields/0/rollup/where/other In collection "lines", field "other" does not exist.',
    ],
    [
      summary({ function: 'COUNT', where: { amount: 'x' } }),
      '/fields/0/rollup/where/amount Field "amount" must be a number, not "x".',
    ],
    [
      { name: 'orders', fields: [], validationRules: [{ name: 'r', errorCondition: '1 +', errorMessage: 'no' }] },
      '/validationRules/0/errorCondition The formula ends where a value is expected (at character 4).',
    ],
  ])('%j are refused', (input, problem) => {
    expect(problemsOf(input, { collections })).toEqual([problem]);
  });
});

describe('picklists', () => {
  const picklists = new Map([['countries', ['us', 'de']]]);
  const country = { name: 'country', type: 'PICKLIST', picklist: 'countries' };
  const state = (dependsOn: unknown): object => ({ name: 'state', type: 'PICKLIST', values: ['ny', 'by'], dependsOn });

  it('have the values of the picklist of the tenant, whatever values stand beside its name', () => {
    const checked = checkDefinition(withFields({ ...country, values: ['old'] }), context({ picklists }));
    expect(checked).toMatchObject({ definition: { fields: [{ picklist: 'countries', values: ['us', 'de'] }] } });
    expect(problemsOf(withFields({ ...country, picklist: 'countris' }), { picklists })).toEqual([
      expect.stringMatching(/^\/fields\/0\/picklist .*Did you mean "countries"/),
    ]);
    expect(problemsOf(withFields({ name: 'a', type: 'STRING', picklist: 'countries' }), { picklists })).toEqual([
      expect.stringMatching(/^\/fields\/0\/picklist Only fields of type PICKLIST/),
    ]);
    expect(problemsOf(withFields({ ...country, default: 'fr' }), { picklists })).toEqual([
      expect.stringMatching(/^\/fields\/0\/default/),
    ]);
  });

  it('depend on values that both fields have', () => {
    const dependsOn = { field: 'country', values: { us: ['ny'], de: ['by'] } };
    expect(problemsOf(withFields(country, state(dependsOn)), { picklists })).toEqual([]);
    const problems = problemsOf(
      withFields(country, state({ field: 'country', values: { us: ['ny', 'nj'], uk: [], de: 'by' } })),
      { picklists },
    );
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      '/fields/1/dependsOn/values/us/1',
      '/fields/1/dependsOn/values/uk',
      '/fields/1/dependsOn/values/de',
    ]);
  });

  it.each([
    ['a field that does not exist', 'contry', 'Did you mean "country"'],
    ['themselves', 'state', 'would depend on itself'],
    ['a field of another type', 'text', 'is STRING'],
  ])('do not depend on %s', (_, name, message) => {
    const text = { name: 'text', type: 'STRING' };
    expect(problemsOf(withFields(country, text, state({ field: name, values: {} })), { picklists })).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it('do not depend on each other in a circle', () => {
    const one = { name: 'one', type: 'PICKLIST', values: ['x'], dependsOn: { field: 'two', values: {} } };
    const two = { name: 'two', type: 'PICKLIST', values: ['x'], dependsOn: { field: 'one', values: {} } };
    expect(problemsOf(withFields(one, two))).toHaveLength(2);
  });
});

describe('defaults by formula', () => {
  const price = { name: 'price', type: 'CURRENCY' };
  const defaulted = (defaultFormula: string, more: object = {}): object => ({
    name: 'a',
    type: 'STRING',
    defaultFormula,
    ...more,
  });

  it.each([
    [
      'of the wrong type',
      [price, defaulted('price * 2')],
      'gives number, which is no default of a field of type STRING',
    ],
    ['that read themselves', [defaulted('a')], '"a" has no value yet'],
    [
      'that read later ones',
      [defaulted('b'), { name: 'b', type: 'STRING', defaultFormula: "'x'" }],
      '"b" has no value yet',
    ],
    ['that read what the platform sets', [defaulted('createdBy')], 'a default cannot read it'],
    ['beside a constant', [defaulted("'x'", { default: 'y' })], 'either "default", or "defaultFormula"'],
    ['of JSON', [defaulted("'x'", { type: 'JSON' })], 'no default by formula'],
    ['of computed fields', [defaulted('1', { type: 'AUTO_NUMBER' })], 'The platform sets fields'],
  ])('are refused %s', (_, fields, message) => {
    expect(problemsOf(withFields(...fields))).toEqual([expect.stringContaining(message)]);
  });

  it('read constants and formulas before them', () => {
    const fields = [price, defaulted("TEXT(price) + ' EUR'"), { name: 'b', type: 'TEXT', defaultFormula: 'UPPER(a)' }];
    expect(problemsOf(withFields(...fields))).toEqual([]);
  });
});
