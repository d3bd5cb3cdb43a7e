import { FakeClock } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionFilter } from '../execution-store.js';
import { openPostgresStores, type PostgresStores } from '../testing/postgres-stores.js';
import { acme, globex } from '../testing/sample-executions.js';
import { listExecutions, listQuery } from './archive-queries.js';

const rows = 20_000;
/** One in `tracedEvery` executions of a tenant has a trace, and `perTrace` of them share one. */
const tracedEvery = 50;
const perTrace = 4;
const traces = rows / tracedEvery / perTrace;

const clock = new FakeClock();
const now = clock.now();
let stores: PostgresStores;

beforeAll(async () => {
  stores = await openPostgresStores(clock);
  for (const tenantId of [acme, globex]) {
    await stores.database.query(
      `insert into drover.executions (tenant_id, execution_id, partition, function_name, generation, status, accepted_at,
         finished_at, expires_at, trace_id, dead_letter, input, output, rest)
       select $1, (lpad(to_hex($2::bigint + i), 12, '0') || '7000' || '8000' || lpad(to_hex(i), 12, '0'))::uuid, 3,
         'f' || i % 7, 1, case when i % 3 = 0 then 'error' else 'success' end, to_timestamp(($2::bigint + i) / 1000.0),
         to_timestamp(($2::bigint + i) / 1000.0), to_timestamp($2::bigint / 1000.0) + interval '1 day',
         case when i % $3::integer = 0 then 'trace-' || i / $3::integer % $4::integer end, false, '1', '1',
         '{"kind":"async","attempts":1,"failures":[]}'
       from generate_series(1, $5::integer) i`,
      [tenantId, now, tracedEvery, traces, rows],
    );
  }
  await stores.database.query('vacuum analyze drover.executions');
});
afterAll(() => stores.close());

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

async function planOf(filter: ExecutionFilter): Promise<readonly Plan[]> {
  const { text, values } = listQuery(filter, now);
  const [answer] = await stores.database.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
    `explain (analyze, format json) ${text}`,
    values,
  );
  const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)];
  return (answer?.['QUERY PLAN'] ?? []).flatMap(({ Plan: plan }) => flat(plan));
}

const search: ExecutionFilter = { tenantId: acme, traceId: 'trace-7', limit: 50 };

describe('a search by trace id', () => {
  it.each<[string, Partial<ExecutionFilter>]>([
    ['alone', {}],
    ['of one function', { functionName: 'f3' }],
    ['of those that succeeded', { status: 'success' }],
    ['of a time', { from: now, to: now + 3_600_000 }],
    ['from the oldest', { oldestFirst: true }],
    ['for a short page', { limit: 2 }],
    ['that no execution has', { traceId: 'trace-x' }],
  ])('%s reads only executions with that trace', async (_, more) => {
    const filter = { ...search, ...more };
    const plan = await planOf(filter);
    expect(plan.map((node) => node['Node Type'])).toEqual(['Limit', 'Index Scan']);
    expect(plan[1]).toMatchObject({ 'Index Name': 'executions_with_trace' });
    const read = (plan[1]?.['Actual Rows'] ?? Infinity) + (plan[1]?.['Rows Removed by Filter'] ?? 0);
    expect(read).toBeLessThanOrEqual(perTrace);
  });

  it('finds all executions of the tenant, newest first, and continues after one', async () => {
    const found = await listExecutions(stores.database, search, now);
    expect(found.map(({ accepted }) => [accepted.tenantId, accepted.traceId])).toEqual(
      Array.from({ length: perTrace }, () => [acme, 'trace-7']),
    );
    const ids = found.map(({ accepted }) => accepted.executionId);
    expect(ids).toEqual(ids.toSorted().toReversed());
    const after = ids[1] ?? '';
    const rest = await listExecutions(stores.database, { ...search, after }, now);
    expect(rest.map(({ accepted }) => accepted.executionId)).toEqual(ids.slice(2));
    expect((await planOf({ ...search, after }))[1]).toMatchObject({ 'Index Name': 'executions_with_trace' });
  });
});

describe('a search by function', () => {
  const ofFunction: ExecutionFilter = { tenantId: acme, functionName: 'f3', limit: 20 };
  const scansOf = async (filter: ExecutionFilter): Promise<readonly Plan[]> =>
    (await planOf(filter)).filter((node) => node['Node Type'].includes('Scan') && node['Index Name'] !== undefined);

  it.each<[string, Partial<ExecutionFilter>]>([
    ['and status', { status: 'error' }],
    ['and a common status', { status: 'success' }],
    ['and a status that no execution has', { status: 'cancelled' }],
    ['and status, from the oldest', { status: 'success', oldestFirst: true }],
    ['and status, of a time', { status: 'error', from: now, to: now + 3_600_000 }],
    ['that does not exist, and status', { functionName: 'none', status: 'success' }],
    ['alone', {}],
  ])('%s reads an index in the order of the page, and little more than the page', async (_, more) => {
    const filter = { ...ofFunction, ...more };
    const plan = await planOf(filter);
    expect(plan.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    const scans = await scansOf(filter);
    expect(scans.map((node) => node['Index Name'])).toEqual(['executions_of_function']);
    const statuses = filter.status === undefined ? 4 : 1;
    // `Actual Rows` is the average of the loops, one per status.
    const read = (scans[0]?.['Actual Rows'] ?? Infinity) * statuses;
    expect(read).toBeLessThanOrEqual(filter.limit * statuses);
    expect(scans[0]?.['Rows Removed by Filter'] ?? 0).toBe(0);
  });

  it('without a status merges all of them in the order of their ids, page by page', async () => {
    const ids: string[] = [];
    for (let after: string | undefined; ids.length < 100; after = ids.at(-1)) {
      const page = await listExecutions(stores.database, { ...ofFunction, ...(after !== undefined && { after }) }, now);
      expect(page.map(({ accepted }) => accepted.functionName)).toEqual(Array.from({ length: 20 }, () => 'f3'));
      ids.push(...page.map(({ accepted }) => accepted.executionId));
    }
    expect(ids).toEqual(ids.toSorted().toReversed());
    const rowsOf = await stores.database.query<{ execution_id: string }>(
      `select execution_id from drover.executions where tenant_id = $1 and function_name = 'f3' order by 1 desc limit 100`,
      [acme],
    );
    expect(ids).toEqual(rowsOf.map(({ execution_id: id }) => id));
  });
});

it('executions without a trace id have no entry in the index of trace ids', async () => {
  // `reltuples` is exact after a reindex; otherwise an estimate.
  await stores.database.query('reindex index drover.executions_with_trace');
  const [index] = await stores.database.query<{ entries: number }>(
    `select reltuples::integer as entries from pg_class where oid = 'drover.executions_with_trace'::regclass`,
  );
  expect(index?.entries).toBe((2 * rows) / tracedEvery);
});
