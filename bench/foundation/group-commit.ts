import { Database, GroupCommit, prepared } from '@drover/database';
import { systemClock, systemRandomness } from '@drover/service-kit';
import pg from 'pg';
import { medianRatio, median } from '../harness/statistics.js';
import { atLeast, times } from '../harness/table.js';
import type { Measurement, Surroundings } from './suite.js';

const callers = 256;
const poolSize = 10;
const leastRatio = 8;

const single = prepared('bench-insert', 'insert into bench_rows (caller, body) values ($1, $2) returning id');
const many = prepared(
  'bench-insert-many',
  'insert into bench_rows (caller, body) select * from unnest($1::integer[], $2::text[]) returning id',
);
const body = 'x'.repeat(100);

/** Calls `insert` from `count` callers, each one after the other, for `durationMs`; says how many came back a second. */
async function insertsPerSecond(
  count: number,
  durationMs: number,
  insert: (caller: number) => Promise<unknown>,
): Promise<number> {
  const startedMs = performance.now();
  let inserted = 0;
  await Promise.all(
    Array.from({ length: count }, async (_, caller) => {
      while (performance.now() - startedMs < durationMs) {
        await insert(caller);
        inserted += 1;
      }
    }),
  );
  return inserted / ((performance.now() - startedMs) / 1000);
}

/** What group commit makes of many callers that each insert one row, beside the ways without it. */
export async function groupCommitMeasurement({ url, pace }: Surroundings): Promise<Measurement> {
  const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
  const database = new Database({ url, applicationName: 'bench', poolSize, ...io });
  await database.query(
    'create table bench_rows (id bigint generated always as identity primary key, caller integer, body text)',
  );
  const group = new GroupCommit<number, number>({
    name: 'bench',
    ...io,
    maxConcurrent: 2,
    async write(rows) {
      const written = await database.query<{ id: number }>(many, [rows, rows.map(() => body)]);
      return written.map(({ id }) => id);
    },
  });
  const pool = new pg.Pool({ connectionString: url.reveal(), max: poolSize });
  const client = new pg.Client({ connectionString: url.reveal() });
  await client.connect();

  const contender = (name: string, count: number, insert: (caller: number) => Promise<unknown>) => ({
    name,
    run: async () => [await insertsPerSecond(count, pace.insertMs, insert)],
  });
  return {
    contenders: [
      contender('group commit', callers, (caller) => group.add(caller)),
      contender('single inserts', callers, (caller) => database.query(single, [caller, body])),
      contender('bare pool', callers, (caller) => pool.query({ ...single, values: [caller, body] })),
      contender('bare connection', 1, (caller) => client.query({ ...single, values: [caller, body] })),
    ],
    figures(samples) {
      const [grouped = [], singles = [], barePool = [], bareConnection = []] = samples.map((rounds) => rounds.flat());
      const against = (others: readonly number[], name: string): string => times(medianRatio(others, singles), name);
      const ratio = medianRatio(grouped, singles);
      const unit = 'inserts/s';
      return [
        {
          what: `group commit, ${callers} callers`,
          value: median(grouped),
          unit,
          ratio: times(ratio, 'single inserts'),
          goal: atLeast(ratio, leastRatio, 'x'),
        },
        { what: `single inserts, ${callers} callers, pool of ${poolSize}`, value: median(singles), unit, ratio: '1x' },
        {
          what: `bare pg pool of ${poolSize}, ${callers} callers`,
          value: median(barePool),
          unit,
          ratio: against(barePool, 'single inserts'),
        },
        {
          what: 'bare pg connection, one after the other',
          value: median(bareConnection),
          unit,
          ratio: against(bareConnection, 'single inserts'),
        },
      ];
    },
    async close() {
      await client.end();
      await pool.end();
      await database.stop();
    },
  };
}
