import type { Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { codecsOf } from '../values/field-codec.js';
import { danglingQuery } from '../write/restore-statement.js';
import { restoredProblems, restoredValuesQuery, type RestoredValues } from '../write/restored-values.js';
import type { CheckedReference } from '../write/save-statement.js';
import { runSlots } from '../write/statement-slots.js';
import { recordInvalid, ruleFailed } from '../write/write-errors.js';

/**
 * Throws if the current definition refuses the records, which the transaction has just restored: a required value is missing, a value
 * violates a constraint or is not in its picklist any more, or a rule of updates refuses the record.
 */
export async function checkRestoredValues(
  { tenantId: tenant }: Pick<RecordContext, 'tenantId'>,
  tx: Queryable,
  restored: { readonly collection: CollectionModel; readonly ids: readonly string[] },
  { statements, cipher }: Pick<OperationDependencies, 'statements' | 'cipher'>,
): Promise<void> {
  const { collection, ids } = restored;
  const rows = await runSlots<RestoredValues>(statements, tx, restoredValuesQuery(collection), { tenant, ids });
  const codecs = codecsOf(collection, cipher);
  for (const row of rows) {
    const { values, rules } = restoredProblems(collection, codecs, row);
    const named = (problem: RecordProblem): RecordProblem => ({
      ...problem,
      detail: `The record ${row.id} of "${collection.name}" cannot be restored. ${problem.detail}`,
    });
    if (values.length > 0) throw recordInvalid({ problems: values.map(named) });
    if (rules.length > 0) throw ruleFailed({ problems: rules.map(named) });
  }
}

/** Throws if the restored record refers to one that was deleted since. */
export async function checkRestoredReferences(
  { tenantId: tenant }: Pick<RecordContext, 'tenantId'>,
  tx: Queryable,
  restored: {
    readonly collection: CollectionModel;
    readonly id: string;
    readonly references: readonly CheckedReference[];
  },
  { statements }: Pick<OperationDependencies, 'statements'>,
): Promise<void> {
  const { collection, id, references } = restored;
  if (references.length === 0) return;
  const query = danglingQuery(collection, references);
  const dangling = await runSlots<{ field: string; value: string }>(statements, tx, query, { tenant, id });
  if (dangling.length === 0) return;
  throw recordInvalid({
    problems: dangling.map(({ field, value }) => ({
      code: 'reference',
      detail: `The deleted record refers with "${field}" to ${value}, which does not exist any more. Restore that record first.`,
      source: { pointer: `/data/attributes/${field}` },
    })),
  });
}
