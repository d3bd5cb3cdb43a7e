import { storageModes, type CollectionDefinition, type StorageMode } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import type { FilterOperator } from '../parse/operators.js';
import { parseRecordQuery } from '../parse/parse-query.js';
import { defaultRecordLimits } from '../request/record-context.js';
import { identifier, sql } from '../sql/sql.js';
import { collectionTestSchema, testCollection } from '../testing/collection-tables.js';
import { testContext, testDependencies } from '../testing/record-requests.js';
import { createIndex, indexesOf } from '../storage/collection-indexes.js';
import { createTable } from '../storage/create-table.js';
import { tableOf } from '../storage/field-expression.js';
import { requirePatternIndexes } from '../storage/pattern-index.js';
import { writeCursor } from './cursor.js';
import { listStatement } from './list-statement.js';
import { operatorIndexes } from './operator-indexes.js';
import { planList } from './plan-list.js';
import { Planning } from './planning.js';

const rows = 100_000;

const definitions = (storageMode: StorageMode): CollectionDefinition[] => [
  { name: 'customers', storageMode, fields: [{ name: 'country', type: 'STRING', indexed: true }] },
  {
    name: 'orders',
    storageMode,
    fields: [
      { name: 'number', type: 'STRING', unique: true },
      { name: 'status', type: 'STRING', indexed: true },
      { name: 'total', type: 'CURRENCY', indexed: true },
      { name: 'items', type: 'INTEGER', indexed: true },
      { name: 'placedAt', type: 'DATETIME', indexed: true },
      { name: 'labels', type: 'ARRAY', indexed: true },
      { name: 'note', type: 'TEXT', searchable: true, patternIndexed: true },
      { name: 'address', type: 'JSON', indexed: true },
      { name: 'place', type: 'GEOLOCATION' },
      { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
    ],
    indexes: [['status', '-placedAt'], ['createdAt'], ['-updatedAt'], ['status', 'createdAt']],
  },
];

/** 100,000 orders: a tenth without a total, five states, one of a thousand words in the note. */
async function fill(database: Database, customers: CollectionModel, orders: CollectionModel): Promise<void> {
  const at = `timestamptz '2026-01-01Z' + n * interval '1 minute'`;
  const id = `('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid`;
  const column = (name: string): string => identifier(orders.fields.get(name)?.column ?? '').render().text;
  const values = {
    number: `'N' || n`,
    status: `(array['new','paid','sent','late','done'])[1 + n % 5]`,
    total: `case when n % 10 > 0 then round((n * 7919 % 100000)::numeric / 100, 2) end`,
    items: `n * 31 % 5000`,
    placedAt: `to_char(timestamp '2026-01-01' + n * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    labels: `jsonb_build_array('label' || n % 1000)`,
    note: `'word' || (n * 13 % 1000) || ' of an order'`,
    address: `jsonb_build_object('city', 'City ' || n % 2000, 'lines', jsonb_build_array('L' || n % 3000), 'floor', n % 1500)`,
    customer: `('00000000-0000-7000-8000-' || lpad((n % 1000)::text, 12, '0'))`,
  };
  const isJsonb = orders.storageMode === 'JSONB';
  const insert = async (
    model: CollectionModel,
    count: number,
    fields: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const names = Object.keys(fields);
    const stored = isJsonb
      ? [
          'collection_id, data',
          `'${model.id}', jsonb_build_object(${names.map((name) => `'${model.fields.get(name)?.column}', ${fields[name]}`).join(', ')})`,
        ]
      : [
          names.map((name) => (model === orders ? column(name) : `"${model.fields.get(name)?.column}"`)).join(', '),
          names
            .map((name) =>
              name === 'placedAt'
                ? `(${fields[name]})::timestamptz`
                : name === 'customer'
                  ? `${fields[name]}::uuid`
                  : fields[name],
            )
            .join(', '),
        ];
    await database.query(
      `insert into ${tableOf(model).render().text} (tenant_id, id, created_by, updated_by, created_at, updated_at, ${stored[0]})
       select '${model.tenantId}', ${id}, 'test', 'test', ${at}, ${at} + n % 977 * interval '1 hour', ${stored[1]} from generate_series(1, ${count}) as n`,
    );
    // Indexes of a full table are made in a fraction of the time that its rows would take with them.
    for (const index of indexesOf(model)) await database.query(createIndex(model, index, 'at once').render().text);
    await database.query(`analyze ${tableOf(model).render().text}`);
  };
  await insert(customers, 1_000, { country: `'C' || n % 100` });
  await insert(orders, rows, values);
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Subplan Name'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}
const nodes = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

let server: TestDatabase;
let database: Database;
const models = new Map<StorageMode, readonly CollectionModel[]>();
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect();
  await requirePatternIndexes(database, definitions('JSONB'));
  for (const mode of storageModes) {
    const made = definitions(mode).map((definition) => testCollection(definition, { tenantId: mode }));
    for (const each of made) await database.query(createTable(each).render().text);
    const [customers, orders] = made;
    if (customers && orders) await fill(database, customers, orders);
    models.set(mode, made);
  }
}, 170_000);
afterAll(() => server.drop());

const idOf = (n: number): string => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const after = (signature: string, ...values: (string | null)[]): string =>
  `page[after]=${writeCursor(signature, JSON.stringify(values))}`;

async function explain(text: string, values: readonly unknown[]): Promise<PlanNode> {
  const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(text, values);
  return row?.['QUERY PLAN'][0].Plan ?? { 'Node Type': 'none' };
}

async function plansOf(mode: StorageMode, query: string): Promise<{ orders: CollectionModel; shown: PlanNode[] }> {
  const [customers, orders] = models.get(mode) ?? [];
  if (!customers || !orders) throw new Error('The collections were not made');
  const planning = new Planning(testContext({ tenantId: mode }), testDependencies(database, [customers, orders]));
  const takes = ['filter', 'sort', 'page', 'search', 'include'] as const;
  const plan = await planList(planning, orders, parseRecordQuery(query, { takes }, defaultRecordLimits), undefined);
  const statement = listStatement(planning, plan);
  const { text, values } = sql`explain (format json) ${statement}`.render();
  const shown = [await explain(text, values)];
  // The plan for any values, which PostgreSQL takes for prepared statements. Older servers do not show it.
  if (Number.parseInt(database.serverVersion, 10) >= 16)
    shown.push(await explain(sql`explain (generic_plan, format json) ${statement}`.render().text, []));
  return { orders, shown };
}

const scansOf = (plan: PlanNode, { table }: CollectionModel): PlanNode[] =>
  nodes(plan).filter((node) => node['Relation Name'] === table);

describe.each(storageModes)('over 100,000 records in storage mode %s', (mode) => {
  it.each([
    ['', 'a list'],
    [after('id', idOf(50_000)), 'the page after a cursor'],
    ['filter[placedAt][gte]=2026-03-11T00:00:00Z&sort=-placedAt', 'a range and its order'],
    ['filter[customer][eq]=' + idOf(5), 'a filter by a reference'],
    ['sort=total', 'an order'],
    ['sort=-total', 'an order downwards, records without a value last'],
    [`sort=-total&${after('-total,-id', '500.00', idOf(5))}`, 'a page of an order downwards'],
    [`sort=total&${after('total,id', '500.00', idOf(5))}`, 'a page of an order'],
    [`sort=total&${after('total,id', null, idOf(5_000))}`, 'a page of records without a value'],
    ['filter[status][eq]=paid&sort=-placedAt', 'a filter and an order that share an index'],
    ['sort=createdAt', 'an order by the time of creation'],
    ['sort=-createdAt', 'the newest records'],
    ['sort=updatedAt', 'an index that is read backwards'],
    ['sort=-updatedAt', 'the records that were changed last'],
    [`sort=-updatedAt&${after('-updatedAt,-id', '2026-02-01T00:00:00Z', idOf(5))}`, 'a page of these'],
    ['filter[createdAt][between]=2026-01-02T00:00:00Z,2026-01-02T01:00:00Z', 'a range of the time of creation'],
    ['filter[updatedAt][gte]=2026-04-17T00:00:00Z', 'what was changed since'],
    ['filter[status][eq]=paid&sort=createdAt', 'a filter and the time of creation that share an index'],
    ['search=word77', 'a full-text search'],
    ['filter[customer.country][eq]=C7&sort=-placedAt', 'a filter by a related record and an order'],
    ['include=customer&sort=-placedAt', 'a list with related records'],
    ['filter[or][0][number][eq]=N5&filter[or][1][total][eq]=3.5', 'alternatives that both have an index'],
    ['filter[or][0][customer.country][eq]=C7&filter[or][1][number][eq]=N5', 'alternatives, one about a related record'],
    [
      'filter={"or":[{"and":[{"customer.country":{"eq":"C7"}},{"items":{"eq":5}}]},{"number":{"eq":"N5"}}]}',
      'the same',
    ],
  ])('reads %s by an index: %s', async (query) => {
    const { orders, shown } = await plansOf(mode, query);
    for (const plan of shown) {
      const scans = scansOf(plan, orders);
      expect(scans.map((node) => node['Node Type'])).not.toEqual([]);
      expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    }
  });

  it.each([
    'sort=customer.country',
    'sort=-customer.country',
    `sort=customer.country&${after('customer.country,id', 'C50', idOf(5))}`,
  ])('reads %s from the related records on', async (query) => {
    const { orders, shown } = await plansOf(mode, query);
    // Records without a value are read only if the others do not fill the page.
    const isLast = (node: PlanNode): boolean => node['Subplan Name'] === 'CTE b';
    const without = (plan: PlanNode): PlanNode => ({
      ...plan,
      Plans: (plan.Plans ?? []).filter((node) => !isLast(node)).map(without),
    });
    for (const plan of shown.map(without)) {
      const scans = scansOf(plan, orders);
      expect(scans.map((node) => node['Node Type'])).not.toEqual([]);
      expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    }
  });

  /** A filter for each operator that `operatorIndexes` promises an index for, and words of the index that it uses. */
  const filters: Readonly<Record<FilterOperator, readonly (readonly [filter: string, index: string])[]>> = {
    eq: [
      ['[number][eq]=N77777', 'unique'],
      ['[total][eq]=12.5', 'total'],
      ['[address.city][eq]=City 7', 'address'],
      ['[address.floor][eq]=7', 'address'],
    ],
    neq: [],
    gt: [['[items][gt]=4995', 'items']],
    gte: [['[items][gte]=4995', 'items']],
    lt: [['[items][lt]=3', 'items']],
    lte: [['[items][lte]=3', 'items']],
    between: [['[items][between]=10,12', 'items']],
    in: [
      ['[total][in]=1,2,3', 'total'],
      ['[address.city][in]=City 7,City 8', 'address'],
    ],
    nin: [],
    isnull: [],
    contains: [['[note][contains]=word77 ', 'gin_trgm_ops']],
    starts: [['[note][starts]=word77 ', 'gin_trgm_ops']],
    ends: [['[note][ends]=777 of an order', 'gin_trgm_ops']],
    icontains: [['[note][icontains]=WORD77 ', 'gin_trgm_ops']],
    istarts: [['[note][istarts]=WORD77 ', 'gin_trgm_ops']],
    iends: [['[note][iends]=777 OF AN ORDER', 'gin_trgm_ops']],
    ieq: [['[note][ieq]=WORD77 of an ORDER', 'gin_trgm_ops']],
    like: [['[note][like]=word77 %', 'gin_trgm_ops']],
    ilike: [['[note][ilike]=WORD77 %', 'gin_trgm_ops']],
    regex: [['[note][regex]=word77 of', 'gin_trgm_ops']],
    has: [
      ['[labels][has]=label7', 'labels'],
      ['[address][has]={"city":"City 7"}', 'address'],
      ['[address.lines][has]=L7', 'address'],
    ],
    hasAny: [['[labels][hasAny]=label7,label8', 'labels']],
    hasAll: [['[labels][hasAll]=label7', 'labels']],
    search: [['[note][search]=word77', 'to_tsvector']],
  };

  it.each(Object.entries(operatorIndexes) as [FilterOperator, string | undefined][])(
    'keeps what the reference promises of the operator %s: %s',
    async (operator, promised) => {
      expect(filters[operator].length > 0).toBe(promised !== undefined);
      for (const [filter, about] of filters[operator]) {
        // In the order of the ids, PostgreSQL may also walk along these if it expects enough records; there is no way along the versions.
        const [ordered, unordered] = [
          await plansOf(mode, `filter${filter}`),
          await plansOf(mode, `filter${filter}&sort=version`),
        ];
        const { orders } = ordered;
        for (const plan of [...ordered.shown, ...unordered.shown.slice(0, 1)]) {
          const scans = scansOf(plan, orders).filter((node) => node['Node Type'] === 'Seq Scan');
          expect({ filter, scans }).toEqual({ filter, scans: [] });
        }
        const used = unordered.shown
          .slice(0, 1)
          .flatMap(nodes)
          .map((node) => node['Index Name'] ?? '');
        const fitting = indexesOf(orders).filter(({ fields, isUnique, body }) => {
          const text = `${fields.length === 1 ? fields[0] : ''} ${isUnique ? 'unique' : ''} ${body.render().text}`;
          return text.includes(about);
        });
        expect(
          used.some((name) => fitting.some((index) => index.name === name)),
          `${filter}: ${used.join(' ')}`,
        ).toBe(true);
      }
    },
  );
});
