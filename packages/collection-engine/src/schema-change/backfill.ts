import { parameter, sql, type Sql } from '../sql/sql.js';
import type { ChangeRun } from './change-run.js';

/** Rows of a transaction: as many as it can change in a time that a request which needs one of them does not notice. */
const [firstRows, mostRows] = [500, 20_000];
const [shortMs, longMs] = [50, 150];
const pauseMs = 5;
/** Between two reports of progress: each of them is a commit. */
const reportMs = 250;
const lowestId = '00000000-0000-0000-0000-000000000000';

export interface BackfillWork {
  readonly about: string;
  readonly table: Sql;
  /** Condition for the rows of `t` that are not done. It never becomes true again for a row that is done. */
  readonly isPending: Sql;
  /** What `update t set` sets. */
  readonly assignment: Sql;
}

/**
 * Updates rows in batches, in the order of their ids, until none is pending. Rows that a request has locked are left for the next pass,
 * so a backfill waits for no request and is part of no deadlock. It can end at any point and start again.
 */
export async function backfill(run: ChangeRun, work: BackfillWork): Promise<void> {
  const { about, table, isPending } = work;
  const [counted] = await run.session.query<{ total: number }>(
    sql`select count(*) as total from ${table} as t where ${isPending}`.render().text,
  );
  const total = counted?.total ?? 0;
  let [done, rows, reportedMs] = [0, firstRows, Number.NEGATIVE_INFINITY];
  for (let pending = total > 0; pending; pending = await isAnyPending(run, work)) {
    for (let last: string | undefined = lowestId; last !== undefined; ) {
      const startedMs = run.nowMs;
      if (startedMs - reportedMs >= reportMs) {
        await run.report(about, { done, total: Math.max(total, done) });
        reportedMs = startedMs;
      }
      const batch: Batch = await updateBatch(run, work, last, rows);
      rows = nextRows(rows, run.nowMs - startedMs);
      done += batch.rows;
      last = batch.last ?? undefined;
      await run.pause(pauseMs);
    }
  }
  await run.report(about, { done, total: done });
}

/** A batch that took too long has a shorter one after it. */
function nextRows(rows: number, tookMs: number): number {
  if (tookMs > longMs) return Math.max(firstRows, Math.floor(rows / 2));
  return tookMs < shortMs ? Math.min(mostRows, rows * 2) : rows;
}

interface Batch {
  readonly rows: number;
  readonly last: string | null;
}

async function updateBatch(
  run: ChangeRun,
  { table, isPending, assignment }: BackfillWork,
  after: string,
  rows: number,
): Promise<Batch> {
  // Pages are cut by id alone: PostgreSQL knows too little about pending rows, and would read the whole table for each batch.
  const { text, values } = sql`
    with page as materialized (
      select t.id from ${table} as t where t.id > ${parameter(after)} order by t.id limit ${parameter(rows)}
    ), batch as (
      select t.id from ${table} as t where t.id in (select id from page) and (${isPending}) for update skip locked
    ), touched as (
      update ${table} as t set ${assignment} from batch where t.id = batch.id
    )
    select (select count(*) from batch) as rows, (select id from page order by id desc limit 1) as last`.render();
  const [batch] = await run.session.query<Batch>(text, values);
  return batch ?? { rows: 0, last: null };
}

async function isAnyPending(run: ChangeRun, { table, isPending }: BackfillWork): Promise<boolean> {
  const [row] = await run.session.query<{ pending: boolean }>(
    sql`select exists (select from ${table} as t where ${isPending}) as pending`.render().text,
  );
  return row?.pending ?? false;
}
