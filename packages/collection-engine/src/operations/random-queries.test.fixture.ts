import type { CollectionDefinition, FieldDefinition, StorageMode } from '@drover/contracts';
import fc from 'fast-check';
import type { FilterOperator } from '../parse/operators.js';

/** Random definitions, records and queries, and what the queries must find: evaluated over arrays, in the obvious way. */
export type Scalar = string | number | boolean | null;
export type Value = Scalar | readonly Value[] | { readonly [key: string]: Value };

export interface RandomRecord {
  readonly id: string;
  readonly values: Readonly<Record<string, Value>>;
}

export interface RandomField {
  readonly definition: FieldDefinition;
  readonly kind: 'text' | 'number' | 'boolean' | 'time' | 'list' | 'json' | 'reference';
  readonly domain: readonly Value[];
}

const texts = [
  '',
  'a',
  'A',
  'ab',
  'b',
  'é',
  'É',
  'Zoo',
  'a%b',
  'a_b',
  'x,y',
  '\\',
  "it's",
  '"q"',
  '😀',
  'ﬀ',
  '5',
  'null',
];

const kinds: readonly (Pick<RandomField, 'kind' | 'domain'> & { readonly field: Omit<FieldDefinition, 'name'> })[] = [
  { field: { type: 'STRING' }, kind: 'text', domain: texts },
  { field: { type: 'TEXT', searchable: true, patternIndexed: true }, kind: 'text', domain: texts },
  { field: { type: 'INTEGER' }, kind: 'number', domain: [-3, 0, 1, 2, 10, 2_147_483_647] },
  { field: { type: 'LONG' }, kind: 'number', domain: [0, 7, 9_007_199_254_740_991, -5] },
  { field: { type: 'DOUBLE' }, kind: 'number', domain: [-1.5, 0, 0.1, 3, 1e20] },
  { field: { type: 'CURRENCY' }, kind: 'number', domain: [0, 9.99, 10, 10.5, -1] },
  { field: { type: 'BOOLEAN' }, kind: 'boolean', domain: [true, false] },
  { field: { type: 'DATE' }, kind: 'time', domain: ['2026-01-01', '2026-01-31', '1999-12-31', '0099-05-05'] },
  {
    field: { type: 'DATETIME' },
    kind: 'time',
    domain: ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '1969-12-31T23:59:59.999Z'],
  },
  { field: { type: 'PICKLIST', values: ['red', 'green', 'blue'] }, kind: 'text', domain: ['red', 'green', 'blue'] },
  {
    field: { type: 'MULTI_PICKLIST', values: ['red', 'green', 'blue'] },
    kind: 'list',
    domain: [[], ['red'], ['red', 'blue'], ['green', 'red', 'blue']],
  },
  {
    field: { type: 'ARRAY', constraints: { itemType: 'string' } },
    kind: 'list',
    domain: [[], ['a'], ['a', '5'], ['x,y']],
  },
  {
    field: { type: 'JSON' },
    kind: 'json',
    domain: [
      { a: { b: 1 } },
      { a: { b: 'x' } },
      { a: { b: '5' } },
      { a: { b: 5 } },
      { a: null },
      [1],
      'text',
      { a: { b: true } },
    ],
  },
];

const names = [
  'order',
  'user',
  'select',
  'größe',
  '名前',
  'a-b',
  'Data',
  'data',
  'tenant_id',
  'eq',
  'or',
  'n',
  't',
  'a',
  'g',
  'r',
  'p',
  'x'.repeat(63),
];

/** Random fields with names that SQL, the grammar of filters or the statement itself uses, too. */
const fields = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(...names), { minLength: 2, maxLength: 6 }),
    fc.infiniteStream(fc.tuple(fc.constantFrom(...kinds), fc.boolean())),
  )
  .map(([chosen, stream]) =>
    chosen.map((name): RandomField => {
      const [{ field, kind, domain }, indexed] = stream.next().value as [(typeof kinds)[number], boolean];
      return { definition: { ...field, name, ...(indexed && { indexed }) }, kind, domain };
    }),
  );

/** Two collections: records of `from` reference those of `to`. */
export interface RandomWorld {
  readonly from: RandomCollection;
  readonly to: RandomCollection;
}
export interface RandomCollection {
  readonly definition: CollectionDefinition;
  readonly fields: readonly RandomField[];
  readonly records: readonly RandomRecord[];
}

const idOf = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;

const reference: RandomField = {
  definition: { name: 'link', type: 'LOOKUP', references: { collection: 'targets' } },
  kind: 'reference',
  domain: [idOf(1), idOf(2), idOf(3)],
};

const recordsOf = (its: readonly RandomField[], most: number): fc.Arbitrary<RandomRecord[]> =>
  fc
    .array(
      fc.tuple(
        ...its.map(({ domain }) =>
          fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...domain) }, { weight: 1, arbitrary: fc.constant(null) }),
        ),
      ),
      {
        maxLength: most,
      },
    )
    .map((rows) =>
      rows.map((row, index) => ({
        id: idOf(index + 1),
        values: Object.fromEntries(its.map(({ definition }, at) => [definition.name, row[at] ?? null])),
      })),
    );

export const randomWorlds: fc.Arbitrary<RandomWorld> = fc.tuple(fields, fields).chain(([own, others]) => {
  const from = [...own, reference];
  return fc.tuple(recordsOf(from, 25), recordsOf(others, 4)).map(([records, targets]) => ({
    from: { fields: from, records, definition: { name: 'sources', fields: from.map(({ definition }) => definition) } },
    to: {
      fields: others,
      records: targets,
      definition: { name: 'targets', fields: others.map(({ definition }) => definition) },
    },
  }));
});

export const inMode = (definition: CollectionDefinition, storageMode: StorageMode): CollectionDefinition => ({
  ...definition,
  storageMode,
});

export type RandomFilter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly RandomFilter[] }
  | { readonly kind: 'not'; readonly part: RandomFilter }
  | {
      readonly kind: 'condition';
      readonly path: readonly string[];
      readonly field: RandomField;
      readonly operator: FilterOperator;
      readonly values: readonly Scalar[];
    };

export interface RandomQuery {
  readonly root: keyof RandomWorld;
  readonly filter: RandomFilter | undefined;
  readonly sort: readonly { readonly field: RandomField; readonly isDescending: boolean }[];
  readonly pageSize: number;
  readonly asJson: boolean;
}

const operators: Readonly<Record<RandomField['kind'], readonly FilterOperator[]>> = {
  text: [
    'eq',
    'neq',
    'gt',
    'gte',
    'lt',
    'lte',
    'between',
    'in',
    'nin',
    'isnull',
    'contains',
    'starts',
    'ends',
    'icontains',
    'istarts',
    'iends',
    'ieq',
  ],
  number: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'between', 'in', 'nin', 'isnull'],
  boolean: ['eq', 'neq', 'in', 'nin', 'isnull'],
  time: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'between', 'in', 'nin', 'isnull'],
  list: ['has', 'hasAny', 'hasAll', 'isnull'],
  json: ['isnull'],
  reference: ['eq', 'neq', 'in', 'nin', 'isnull'],
};
const jsonPathOperators: readonly FilterOperator[] = ['eq', 'neq', 'gt', 'lte', 'in', 'nin', 'isnull', 'contains'];

export function randomQueries(world: RandomWorld): fc.Arbitrary<RandomQuery> {
  return fc.constantFrom('from' as const, 'from' as const, 'to' as const).chain((root) => {
    const { fields: own } = world[root];
    const other = root === 'from' ? world.to : world.from;
    const step = root === 'from' ? 'link' : 'sources';
    const condition = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...own).chain((field) => conditionOf(field, [])) },
      { weight: 1, arbitrary: fc.constantFrom(...other.fields).chain((field) => conditionOf(field, [step])) },
    );
    const { filter } = fc.letrec<{ filter: RandomFilter }>((tie) => ({
      filter: fc.oneof(
        { maxDepth: 2, withCrossShrink: true },
        condition,
        fc.record({
          kind: fc.constantFrom('and' as const, 'or' as const),
          parts: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }),
        }),
        fc.record({ kind: fc.constant('not' as const), part: tie('filter') }),
      ),
    }));
    const sortable = own.filter(
      ({ kind }) => kind === 'text' || kind === 'number' || kind === 'time' || kind === 'boolean',
    );
    return fc.record({
      root: fc.constant(root),
      filter: fc.option(filter, { nil: undefined, freq: 6 }),
      sort: fc.uniqueArray(
        fc.record({
          field: sortable.length === 0 ? fc.constant(reference) : fc.constantFrom(...sortable),
          isDescending: fc.boolean(),
        }),
        {
          maxLength: sortable.length === 0 ? 0 : 2,
          selector: ({ field }) => field.definition.name,
        },
      ),
      pageSize: fc.integer({ min: 1, max: 30 }),
      asJson: fc.boolean(),
    });
  });
}

function conditionOf(field: RandomField, steps: readonly string[]): fc.Arbitrary<RandomFilter> {
  const isPath = field.kind === 'json';
  const path = [...steps, field.definition.name];
  const scalars = isPath ? ['x', '5', 'text', 'z'] : field.domain.flat().filter((value) => typeof value !== 'object');
  const value = fc.constantFrom(...((scalars.length === 0 ? ['a'] : scalars) as Scalar[]));
  return fc
    .constantFrom(...(isPath ? [...jsonPathOperators, 'isnull' as const] : operators[field.kind]))
    .chain((operator) => {
      const count = operator === 'between' ? 2 : ['in', 'nin', 'hasAny', 'hasAll'].includes(operator) ? 3 : 1;
      const values =
        operator === 'isnull'
          ? fc.tuple(fc.boolean())
          : fc.array(value, { minLength: count === 3 ? 1 : count, maxLength: count });
      return values.map((its) => ({
        kind: 'condition' as const,
        path: isPath ? [...path, 'a', 'b'] : path,
        field,
        operator,
        values: its,
      }));
    });
}

/** Writes the query string in one of the two forms of filters. */
export function toQueryString({ filter, sort, pageSize, asJson }: RandomQuery): string {
  const parameters = new URLSearchParams();
  if (filter) {
    if (asJson) parameters.append('filter', JSON.stringify(toJson(filter)));
    else addBrackets(parameters, 'filter[and][0]', filter);
  }
  if (sort.length > 0)
    parameters.append(
      'sort',
      sort.map(({ field, isDescending }) => `${isDescending ? '-' : ''}${field.definition.name}`).join(','),
    );
  parameters.append('page[size]', String(pageSize));
  return parameters.toString();
}

function toJson(filter: RandomFilter): unknown {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { [filter.kind]: filter.parts.map(toJson) };
    case 'not':
      return { not: toJson(filter.part) };
    case 'condition': {
      const [value] = filter.values;
      const isList = ['in', 'nin', 'between', 'hasAny', 'hasAll'].includes(filter.operator);
      return { [filter.path.join('.')]: { [filter.operator]: isList ? filter.values : value } };
    }
  }
}

function addBrackets(parameters: URLSearchParams, prefix: string, filter: RandomFilter): void {
  switch (filter.kind) {
    case 'and':
    case 'or':
      filter.parts.forEach((part, index) => addBrackets(parameters, `${prefix}[${filter.kind}][${index}]`, part));
      return;
    case 'not':
      addBrackets(parameters, `${prefix}[not][0]`, filter.part);
      return;
    case 'condition': {
      const isList = ['in', 'nin', 'between', 'hasAny', 'hasAll'].includes(filter.operator);
      // One text would be split at its commas.
      const values = isList && filter.values.length === 1 ? [...filter.values, ...filter.values] : filter.values;
      for (const value of values)
        parameters.append(`${prefix}[${filter.path.join('.')}][${filter.operator}]`, String(value));
    }
  }
}
