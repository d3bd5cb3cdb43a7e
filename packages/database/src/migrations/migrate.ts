import { createHash } from 'node:crypto';
import type { Database, Transaction } from '../connection/database.js';
import type { DatabaseIo } from '../connection/database-io.js';
import { lockInTransaction } from '../connection/advisory-lock.js';
import { migrationChanged, migrationFailed, schemaNewer } from '../errors.js';

/** The schema of one component as a list of steps. Steps are only appended, never changed. */
export interface Migrations {
  readonly component: string;
  readonly steps: readonly { readonly name: string; readonly sql: string }[];
}

interface Applied {
  readonly component: string;
  readonly number: number;
  readonly checksum: string;
  readonly applied_by: string;
}

/**
 * Migrates the database to the schema of this release. All missing steps run in one transaction under one lock: of several
 * processes that start together one migrates and the others find the result; a failed step changes nothing.
 */
export async function migrate(
  database: Database,
  sets: readonly Migrations[],
  { release, clock, observe }: { readonly release: string } & Pick<DatabaseIo, 'clock' | 'observe'>,
): Promise<void> {
  if (await isUpToDate(database, sets)) return;
  await database.transaction(async (tx) => {
    await tx.query('set local statement_timeout = 0');
    await lockInTransaction(tx, 'drover.migrations');
    await tx.query('create schema if not exists drover');
    await tx.query(`create table if not exists drover.migrations (
      component text not null,
      number integer not null,
      name text not null,
      checksum text not null,
      applied_by text not null,
      applied_at timestamptz not null default now(),
      primary key (component, number)
    )`);
    const applied = await tx.query<Applied>('select component, number, checksum, applied_by from drover.migrations');
    for (const set of sets) {
      const done = verifyApplied(set, applied);
      for (const [index, step] of set.steps.slice(done).entries()) {
        const number = done + index + 1;
        const startedMs = clock.monotonicMs();
        await applyStep(tx, set.component, number, step, release);
        const durationMs = clock.monotonicMs() - startedMs;
        tx.afterCommit(() =>
          observe({ kind: 'database.migrated', component: set.component, number, name: step.name, durationMs }),
        );
      }
    }
  });
}

/** Returns the number of the newest applied migration by component. */
export async function schemaVersions(database: Database): Promise<Record<string, number>> {
  const rows = await database.query<{ component: string; number: number }>(
    'select component, max(number) as number from drover.migrations group by component order by component',
  );
  return Object.fromEntries(rows.map((row) => [row.component, row.number]));
}

/** Detects the common case, in which there is nothing to do, without lock and transaction. */
async function isUpToDate(database: Database, sets: readonly Migrations[]): Promise<boolean> {
  const [table] = await database.query<{ exists: boolean }>(
    `select to_regclass('drover.migrations') is not null as exists`,
  );
  if (!table?.exists) return false;
  const applied = await database.query<Applied>(
    'select component, number, checksum, applied_by from drover.migrations',
  );
  return sets.every((set) => verifyApplied(set, applied) === set.steps.length);
}

/** Returns the number of applied steps of `set`; throws if they are not those of this release. */
function verifyApplied(set: Migrations, applied: readonly Applied[]): number {
  const { component, steps } = set;
  const own = applied.filter((row) => row.component === component).toSorted((a, b) => a.number - b.number);
  const newest = own.at(-1);
  if (newest && newest.number > steps.length) {
    throw schemaNewer({ component, found: newest.number, known: steps.length, by: newest.applied_by });
  }
  for (const row of own) {
    const step = steps[row.number - 1];
    if (step && row.checksum !== checksumOf(step.sql))
      throw migrationChanged({ component, number: row.number, name: step.name });
  }
  return newest?.number ?? 0;
}

async function applyStep(
  tx: Transaction,
  component: string,
  number: number,
  step: { readonly name: string; readonly sql: string },
  release: string,
): Promise<void> {
  try {
    await tx.query(step.sql);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw migrationFailed({ component, number, name: step.name, reason }, error);
  }
  await tx.query(
    'insert into drover.migrations (component, number, name, checksum, applied_by) values ($1, $2, $3, $4, $5)',
    [component, number, step.name, checksumOf(step.sql), release],
  );
}

/** Ignores white space, so that a step can be reformatted; everything else of an applied step is fixed. */
function checksumOf(sql: string): string {
  return createHash('sha256').update(sql.replaceAll(/\s+/g, ' ').trim()).digest('hex');
}
