import { hasCode } from '@drover/contracts';
import type { CollectionModel } from '../model/collection-model.js';
import { identifier, sql } from '../sql/sql.js';
import { createIndex, type CollectionIndex } from '../storage/collection-indexes.js';
import { recordsSchema } from '../storage/field-expression.js';
import type { ChangeRun } from './change-run.js';

const lockName = 'drover.index-build';
const lockPollMs = 50;

/**
 * Builds an index while the table is read and written. Returns false if records violate it. An invalid index, which an interrupted build
 * leaves, is dropped and built again.
 */
export async function buildIndex(
  run: ChangeRun,
  collection: CollectionModel,
  index: CollectionIndex,
): Promise<boolean> {
  const state = await indexState(run, index.name);
  if (state === 'valid') return true;
  await lockBuilds(run);
  try {
    if (state === 'invalid') await dropIndex(run, index.name);
    await run.wait(createIndex(collection, index, 'concurrently'));
    return true;
  } catch (error) {
    if (hasCode(error, 'DATABASE_UNAVAILABLE')) throw error;
    await dropIndex(run, index.name);
    if (hasCode(error, '23505')) return false;
    throw error;
  } finally {
    await run.session.query('select pg_advisory_unlock(hashtextextended($1, 0))', [lockName]).catch(() => undefined);
  }
}

/** Drops an index without a lock that requests wait for. */
export async function dropIndex(run: ChangeRun, name: string): Promise<void> {
  await run.wait(sql`drop index concurrently if exists ${identifier(recordsSchema, name)}`);
}

async function indexState(run: ChangeRun, name: string): Promise<'missing' | 'invalid' | 'valid'> {
  const [row] = await run.session.query<{ indisvalid: boolean }>(
    `select i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relname = $1 and c.relnamespace = $2::regnamespace`,
    [name, recordsSchema],
  );
  if (!row) return 'missing';
  return row.indisvalid ? 'valid' : 'invalid';
}

/**
 * Two builds wait for the snapshots of each other, which is a deadlock, so one runs at a time. A session that waits for an advisory lock
 * has a snapshot too, for which the build would wait: it asks again and again instead.
 */
async function lockBuilds(run: ChangeRun): Promise<void> {
  for (;;) {
    const [row] = await run.session.query<{ held: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as held',
      [lockName],
    );
    if (row?.held) return;
    await run.pause(lockPollMs);
  }
}
