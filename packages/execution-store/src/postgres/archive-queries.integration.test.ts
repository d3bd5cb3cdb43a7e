import { FakeClock } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionFilter } from '../execution-store.js';
import { openPostgresWorld, type PostgresWorld } from '../testing/postgres-world.js';
import { acme, globex } from '../testing/sample-executions.js';
import { listExecutions, listQuery } from './archive-queries.js';

const rows = 20_000;
/** Every so many executions of a tenant have a trace, and so many of them share one. */
const tracedEvery = 50;
const perTrace = 4;
const traces = rows / tracedEvery / perTrace;

const clock = new FakeClock();
const now = clock.now();
let world: PostgresWorld;

beforeAll(async () => {
  world = await openPostgresWorld(clock);
  for (const tenantId of [acme, globex]) {
    await world.database.query(
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
  await world.database.query('vacuum analyze drover.executions');
});
afterAll(() => world.close());

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

async function planOf(filter: ExecutionFilter): Promise<readonly Plan[]> {
  const { text, values } = listQuery(filter, now);
  const [answer] = await world.database.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
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
    ['that nobody has', { traceId: 'trace-x' }],
  ])('%s reads only what has it', async (_, more) => {
    const filter = { ...search, ...more };
    const plan = await planOf(filter);
    expect(plan.map((node) => node['Node Type'])).toEqual(['Limit', 'Index Scan']);
    expect(plan[1]).toMatchObject({ 'Index Name': 'executions_with_trace' });
    const read = (plan[1]?.['Actual Rows'] ?? Infinity) + (plan[1]?.['Rows Removed by Filter'] ?? 0);
    expect(read).toBeLessThanOrEqual(perTrace);
  });

  it('finds all of its tenant, newest first, and goes on behind one', async () => {
    const found = await listExecutions(world.database, search, now);
    expect(found.map(({ accepted }) => [accepted.tenantId, accepted.traceId])).toEqual(
      Array.from({ length: perTrace }, () => [acme, 'trace-7']),
    );
    const ids = found.map(({ accepted }) => accepted.executionId);
    expect(ids).toEqual(ids.toSorted().toReversed());
    const after = ids[1] ?? '';
    const rest = await listExecutions(world.database, { ...search, after }, now);
    expect(rest.map(({ accepted }) => accepted.executionId)).toEqual(ids.slice(2));
    expect((await planOf({ ...search, after }))[1]).toMatchObject({ 'Index Name': 'executions_with_trace' });
  });
});

it('executions without a trace id take no room in the index of those with one', async () => {
  // Counted by whoever builds it; otherwise an estimate.
  await world.database.query('reindex index drover.executions_with_trace');
  const [index] = await world.database.query<{ entries: number }>(
    `select reltuples::integer as entries from pg_class where oid = 'drover.executions_with_trace'::regclass`,
  );
  expect(index?.entries).toBe((2 * rows) / tracedEvery);
});
