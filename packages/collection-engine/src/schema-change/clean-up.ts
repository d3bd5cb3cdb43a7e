import { reservedColumns, type CollectionModel } from '../model/collection-model.js';
import { constant, identifier, join, sql } from '../sql/sql.js';
import { autoNumbersOf, sequenceName } from '../storage/auto-numbers.js';
import { indexesOf } from '../storage/collection-indexes.js';
import { recordsSchema, tableOf } from '../storage/field-expression.js';
import { backfill } from './backfill.js';
import { dropIndex } from './build-index.js';
import type { ChangeRun } from './change-run.js';

/**
 * Drops what the current version of a collection does not need: triggers, constraints, indexes, sequences and columns of versions
 * before, and of a change that was refused. It compares the table with the definition, so it does not matter what left them.
 */
export async function cleanUpTable(run: ChangeRun, collection: CollectionModel): Promise<void> {
  const { table } = collection;
  await dropBridges(run, table);
  for (const name of await gatesOfTable(run, table)) {
    await run.alter(sql`alter table ${tableOf(collection)} drop constraint if exists ${identifier(name)}`);
  }
  const needed = new Set(indexesOf(collection).map(({ name }) => name));
  for (const name of await namesOf(run, 'i', table)) if (!needed.has(name)) await dropIndex(run, name);
  const sequences = new Set(autoNumbersOf(collection).map((field) => sequenceName(collection, field)));
  for (const name of await namesOf(run, 'S', table)) {
    if (!sequences.has(name)) await run.alter(sql`drop sequence if exists ${identifier(recordsSchema, name)}`);
  }
  if (collection.storageMode === 'PHYSICAL_TABLE') await dropColumns(run, collection);
}

/** Removes keys of removed fields from the documents of a JSONB collection. */
export async function removeKeys(run: ChangeRun, collection: CollectionModel, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const list = sql`array[${join(
    keys.map((key) => constant(key)),
    sql`, `,
  )}]::text[]`;
  await backfill(run, {
    about: 'Remove values of removed fields',
    table: tableOf(collection),
    isPending: sql`t.data ?| ${list}`,
    assignment: sql`data = t.data - ${list}`,
  });
}

/** Drops the table of a removed collection with everything that belongs to it. */
export async function dropTable(run: ChangeRun, table: string): Promise<void> {
  await run.alter(sql`drop table if exists ${tableOf({ table })}`);
  await dropBridges(run, table);
}

async function dropBridges(run: ChangeRun, table: string): Promise<void> {
  const rows = await run.session.query<{ name: string }>(
    `select proname as name from pg_proc where pronamespace = $1::regnamespace and starts_with(proname, $2)`,
    [recordsSchema, `${table}_b_`],
  );
  // The trigger depends on its function.
  for (const { name } of rows)
    await run.alter(sql`drop function if exists ${identifier(recordsSchema, name)}() cascade`);
}

async function gatesOfTable(run: ChangeRun, table: string): Promise<readonly string[]> {
  const rows = await run.session.query<{ name: string }>(
    `select conname as name from pg_constraint where conrelid = to_regclass($1) and starts_with(conname, $2)`,
    [tableOf({ table }).render().text, `${table}_g_`],
  );
  return rows.map(({ name }) => name);
}

/** Names of indexes (`i`) or sequences (`S`) of a table that the engine has made. */
async function namesOf(run: ChangeRun, kind: 'i' | 'S', table: string): Promise<readonly string[]> {
  const rows = await run.session.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = $1::regnamespace and relkind = $2 and relname like any ($3)`,
    [recordsSchema, kind, ['u', 'i', 'n'].map((letter) => `${table.replaceAll('_', '\\_')}\\_${letter}\\_%`)],
  );
  return rows.map(({ name }) => name);
}

async function dropColumns(run: ChangeRun, collection: CollectionModel): Promise<void> {
  const rows = await run.session.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`,
    [tableOf(collection).render().text],
  );
  const stored = [...collection.fields.values()].filter(({ traits }) => traits.column !== undefined);
  const needed = new Set([...reservedColumns, ...stored.map(({ column }) => column)]);
  const unneeded = rows
    .filter(({ name }) => !needed.has(name))
    .map(({ name }) => sql`drop column if exists ${identifier(name)}`);
  if (unneeded.length > 0) await run.alter(sql`alter table ${tableOf(collection)} ${join(unneeded, sql`, `)}`);
}
