import { storageModes, type CollectionDefinition, type StorageMode } from '@drover/contracts';
import type { Database } from '@drover/database';
import { createTestDatabase, type TestDatabase } from '@drover/database/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectionModel } from '../model/collection-model.js';
import { parseRecordQuery } from '../parse/parse-query.js';
import { defaultRecordLimits } from '../request/record-context.js';
import { identifier, sql } from '../sql/sql.js';
import { collectionTestSchema, testCollection } from '../testing/collection-tables.js';
import { testContext, testDependencies } from '../testing/record-requests.js';
import { createIndex, indexesOf } from '../storage/collection-indexes.js';
import { createTable } from '../storage/create-table.js';
import { tableOf } from '../storage/field-expression.js';
import { writeCursor } from './cursor.js';
import { listStatement } from './list-statement.js';
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
      { name: 'note', type: 'TEXT', searchable: true },
      { name: 'customer', type: 'LOOKUP', references: { collection: 'customers' } },
    ],
    indexes: [['status', '-placedAt']],
  },
];

/** 100,000 orders: a tenth without a total, five states, one of a thousand words in the note. */
async function fill(database: Database, customers: CollectionModel, orders: CollectionModel): Promise<void> {
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
      `insert into ${tableOf(model).render().text} (tenant_id, id, created_by, updated_by, ${stored[0]})
       select '${model.tenantId}', ${id}, 'test', 'test', ${stored[1]} from generate_series(1, ${count}) as n`,
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
  readonly Plans?: readonly PlanNode[];
}
const nodes = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

let server: TestDatabase;
let database: Database;
const models = new Map<StorageMode, readonly CollectionModel[]>();
beforeAll(async () => {
  server = await createTestDatabase(collectionTestSchema);
  database = await server.connect();
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

describe.each(storageModes)('over 100,000 records in storage mode %s', (mode) => {
  it.each([
    ['', 'a list'],
    [after('id', idOf(50_000)), 'the page after a cursor'],
    ['filter[number][eq]=N77777', 'a filter by a unique field'],
    ['filter[total][eq]=12.5', 'a filter by an indexed field'],
    ['filter[items][between]=10,12', 'a range of an indexed field'],
    ['filter[total][in]=1,2,3', 'one of several values'],
    ['filter[placedAt][gte]=2026-03-11T00:00:00Z&sort=-placedAt', 'a range and its order'],
    ['filter[customer][eq]=' + idOf(5), 'a filter by a reference'],
    ['sort=total', 'an order'],
    ['sort=-total', 'an order downwards, records without a value last'],
    [`sort=-total&${after('-total,-id', '500.00', idOf(5))}`, 'a page of an order downwards'],
    [`sort=total&${after('total,id', '500.00', idOf(5))}`, 'a page of an order'],
    [`sort=total&${after('total,id', null, idOf(5_000))}`, 'a page of records without a value'],
    ['filter[status][eq]=paid&sort=-placedAt', 'a filter and an order that share an index'],
    ['filter[labels][has]=label7', 'a value in a list'],
    ['search=word77', 'a full-text search'],
    ['filter[customer.country][eq]=C7&sort=-placedAt', 'a filter by a related record and an order'],
    ['include=customer&sort=-placedAt', 'a list with related records'],
    ['filter[or][0][number][eq]=N5&filter[or][1][total][eq]=3.5', 'alternatives that both have an index'],
  ])('reads %s by an index: %s', async (query) => {
    const [customers, orders] = models.get(mode) ?? [];
    if (!customers || !orders) throw new Error('The collections were not made');
    const planning = new Planning(testContext({ tenantId: mode }), testDependencies(database, [customers, orders]));
    const takes = ['filter', 'sort', 'page', 'search', 'include'] as const;
    const plan = await planList(planning, orders, parseRecordQuery(query, { takes }, defaultRecordLimits), undefined);
    const statement = listStatement(planning, plan);
    const { text, values } = sql`explain (format json) ${statement}`.render();
    const plans = [await explain(text, values)];
    // The plan for any values, which PostgreSQL takes for prepared statements. Older servers do not show it.
    if (Number.parseInt(database.serverVersion, 10) >= 16)
      plans.push(await explain(sql`explain (generic_plan, format json) ${statement}`.render().text, []));
    for (const shown of plans) {
      const scans = nodes(shown).filter((node) => node['Relation Name'] === orders.table);
      expect(scans.map((node) => node['Node Type'])).not.toEqual([]);
      expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    }
  });
});
