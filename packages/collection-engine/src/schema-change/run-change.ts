import { hasCode } from '@drover/contracts';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import { constant, identifier, Sql, sql } from '../sql/sql.js';
import { autoNumbersOf, createSequence } from '../storage/auto-numbers.js';
import { columnOf } from '../storage/create-table.js';
import { tableOf } from '../storage/field-expression.js';
import { backfill } from './backfill.js';
import { constantFill, createBridge, isBridgeNeeded, isUnfilled } from './bridge.js';
import { buildIndex, dropIndex } from './build-index.js';
import type { ChangeRefusal } from './change-plan.js';
import type { ChangeRun } from './change-run.js';
import type { Gate } from './gates.js';
import { refuseGate, refuseIndex } from './obstacles.js';
import type { PlannedChange } from './plan-change.js';

/**
 * Makes the table fit for both versions of the definition, before any worker has the new one. Every step does nothing if it was done
 * before, so after a crash all of them run again. Returns a refusal if records are in the way; the caller then cleans up.
 */
export async function prepareChange(run: ChangeRun, change: PlannedChange): Promise<ChangeRefusal | undefined> {
  await addColumns(run, change);
  if (isBridgeNeeded(change.bridge)) {
    await run.report('Create a trigger that keeps both versions equal');
    await run.alter(createBridge(change.bridge));
  }
  // Converted values are checked where they come from: a value that cannot be converted must not get lost in the backfill.
  const lossy = await closeGates(run, change, change.retypeGates);
  if (lossy) return lossy;
  if (isBridgeNeeded(change.bridge)) {
    await backfill(run, {
      about: 'Fill records',
      table: tableOf(change.after),
      isPending: isUnfilled(change.bridge, sql`t`),
      assignment: sql`id = t.id`, // the trigger does the rest
    });
  }
  const refusal = (await closeGates(run, change, change.gates)) ?? (await buildIndexes(run, change));
  // Without statistics about new columns and expressions the first queries of the new version might not use their indexes.
  if (!refusal && change.indexes.length > 0) await run.wait(sql`analyze ${tableOf(change.after)}`);
  return refusal;
}

/** Removes constraints that the new version does not have, once all workers have it. */
export async function loosenConstraints(run: ChangeRun, { after, loosened }: PlannedChange): Promise<void> {
  await run.report('Drop constraints');
  for (const { name } of loosened.gates) await dropGate(run, tableOf(after), name);
  for (const { name } of loosened.indexes) await dropIndex(run, name);
}

/**
 * A column with a constant that all records get is added with it: PostgreSQL stores the value once, for all rows that it has. The default
 * is gone again at once, because it is for these rows alone: the trigger and the engine fill others.
 */
async function addColumns(run: ChangeRun, { after, added, bridge }: PlannedChange): Promise<void> {
  if (after.storageMode === 'PHYSICAL_TABLE') {
    for (const field of added) {
      const column = columnOf(field);
      if (!column) continue;
      await run.report(`Add the column of "${field.name}"`);
      const value = bridge.filled.includes(field) ? await literalFill(run, after, field) : undefined;
      const table = tableOf(after);
      await run.alter(
        value === undefined
          ? sql`alter table ${table} add column if not exists ${column}`
          : sql`alter table ${table} add column if not exists ${column} default ${value}; alter table ${table} alter column ${identifier(field.column)} drop default`,
      );
    }
  }
  for (const field of autoNumbersOf(after)) await run.alter(createSequence(after, field));
}

/** Returns the constant of a new column as a literal: the expression for it may have a query, which a default cannot. */
async function literalFill(run: ChangeRun, collection: CollectionModel, field: FieldModel): Promise<Sql | undefined> {
  const value = constantFill(collection, field);
  if (value === undefined) return undefined;
  const [row] = await run.session.query<{ value: string }>(sql`select (${value})::text as value`.render().text);
  return row && sql`${constant(row.value)}::${Sql.code(field.traits.column ?? 'text')}`;
}

/** Adds each constraint without a look at the records, which needs a lock, and then looks at them without one. */
async function closeGates(
  run: ChangeRun,
  change: PlannedChange,
  gates: readonly Gate[],
): Promise<ChangeRefusal | undefined> {
  const table = tableOf(change.after);
  for (const gate of gates) {
    await run.report(`Check "${gate.property}" of "${gate.field.name}"`);
    const name = identifier(gate.name);
    if (!(await hasGate(run, gate.name))) {
      await run.alter(sql`alter table ${table} add constraint ${name} check (${gate.condition}) not valid`);
    }
    try {
      await run.wait(sql`alter table ${table} validate constraint ${name}`);
    } catch (error) {
      if (!hasCode(error, '23514')) throw error;
      return refuseGate(run.session, change, gate);
    }
  }
  return undefined;
}

async function buildIndexes(run: ChangeRun, change: PlannedChange): Promise<ChangeRefusal | undefined> {
  for (const index of change.indexes) {
    await run.report(`Build the index ${index.name}`);
    if (!(await buildIndex(run, change.after, index))) return refuseIndex(run.session, change, index);
  }
  return undefined;
}

async function hasGate(run: ChangeRun, name: string): Promise<boolean> {
  const rows = await run.session.query('select from pg_constraint where conname = $1', [name]);
  return rows.length > 0;
}

async function dropGate(run: ChangeRun, table: ReturnType<typeof tableOf>, name: string): Promise<void> {
  if (await hasGate(run, name))
    await run.alter(sql`alter table ${table} drop constraint if exists ${identifier(name)}`);
}
