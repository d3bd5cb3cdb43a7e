import type { Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import type { OperationDependencies, RecordOperation } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { recordNotFound } from '../request/request-errors.js';
import type { Sql } from '../sql/sql.js';
import { findCascade, type Cascade } from '../write/cascade.js';
import { storedFields } from '../write/stored-record-json.js';
import { revealStatement } from '../write/hidden-references.js';
import { restoreStatement, type RestoredRow } from '../write/restore-statement.js';
import { namedViolation } from '../write/save-problems.js';
import type { CheckedReference, SavedRow } from '../write/save-statement.js';
import { runSlots, type SlotValues } from '../write/statement-slots.js';
import { versionInput } from '../write/version-rows.js';
import { historyOff, softDeleteOff, staleWrite, tooManyAffected, versionUnknown } from '../write/write-errors.js';
import {
  expectedVersion,
  isAnswerMinimal,
  referenceTargets,
  requireId,
  requireWrite,
  writeQuery,
} from './prepare-write.js';
import { checkRestoredReferences, checkRestoredValues } from './check-restored.js';
import { requireCascadeAccess } from './delete-records.js';
import { recordView } from './record-view.js';
import { versionOfPath } from './record-versions.js';
import { toSaveAnswer } from './save-answer.js';
import { openSavedRecords, planSave, runSave } from './save.js';

/** `POST /api/{collection}/{id}/restore`: brings a deleted record back, with the details that were deleted with it. */
export const restoreRecord: RecordOperation = async (context, collection, request, dependencies) => {
  requireWrite(context, collection, 'update', request);
  writeQuery(request, {}, context);
  if (!collection.isSoftDelete) throw softDeleteOff({ collection: collection.name });
  const id = requireId(request, collection);
  const isMinimal = isAnswerMinimal(context, collection, request);
  const cascade = await findCascade(collection, dependencies.findReferrers);
  requireCascadeAccess(context, cascade);
  // Found before the transaction, which would otherwise wait for a second connection while it holds one.
  const fields = storedFields(collection).filter(({ traits }) => traits.kind === 'reference');
  const restored = {
    collection,
    id,
    expected: expectedVersion(request),
    references: await referenceTargets(context, fields, dependencies),
    answer: isMinimal ? undefined : (await recordView(collection, context, dependencies)).json,
  };
  const rows = await dependencies.database.transaction((tx) =>
    new Restoration(context, cascade, dependencies).restore(tx, restored),
  );
  return toSaveAnswer(rows, { collection, shape: context.shape, isArray: false, isMinimal, mayCreate: false });
};

/** The record that a request restores. */
interface RestoredRecord {
  readonly collection: CollectionModel;
  readonly id: string;
  /** The version that it must have while it is deleted; undefined for any. */
  readonly expected: number | undefined;
  readonly references: readonly CheckedReference[];
  readonly answer: ((alias: Sql) => Sql) | undefined;
}

/** One restoration with its cascade, and how many records it may still change. */
class Restoration {
  readonly #context: RecordContext;
  readonly #cascade: Cascade;
  readonly #dependencies: OperationDependencies;
  #remaining: number;

  constructor(context: RecordContext, cascade: Cascade, dependencies: OperationDependencies) {
    this.#context = context;
    this.#cascade = cascade;
    this.#dependencies = dependencies;
    this.#remaining = context.limits.bulkRows;
  }

  async restore(tx: Queryable, restored: RestoredRecord): Promise<SavedRow[]> {
    const { collection, id, expected, answer } = restored;
    const [row] = await this.#run(tx, collection, restoreStatement(collection, { answer }), { ids: [id] });
    if (!row) throw recordNotFound({ collection: collection.name, id });
    const version = row.version - 1;
    if (expected !== undefined && expected !== version) throw staleWrite({ id, expected, version });
    await checkRestoredReferences(this.#context, tx, restored, this.#dependencies);
    await checkRestoredValues(this.#context, tx, { collection, ids: [id] }, this.#dependencies);
    await this.#follow(tx, collection, [id], row.deleted_at);
    const record = row.record === null ? null : this.#dependencies.cipher.openAll(this.#context.tenantId, row.record);
    return [{ index: 0, id, version: row.version, is_new: false, record, problem: null, subject: null }];
  }

  /** Details that the same deletion has marked have the same time of deletion; lookups refer to the records again. */
  async #follow(tx: Queryable, { name }: CollectionModel, ids: readonly string[], deletedAt: string): Promise<void> {
    for (const { collection, field, effect } of this.#cascade.get(name) ?? []) {
      if (effect === 'clear') await this.#run(tx, collection, revealStatement(collection, field), { ids });
      if (effect !== 'delete' || !collection.isSoftDelete) continue;
      const rows = await this.#run(tx, collection, restoreStatement(collection, { by: field }), { ids, at: deletedAt });
      if (rows.length === 0) continue;
      const details = rows.map(({ id }) => id);
      await checkRestoredValues(this.#context, tx, { collection, ids: details }, this.#dependencies);
      await this.#follow(tx, collection, details, deletedAt);
    }
  }

  async #run(
    tx: Queryable,
    collection: CollectionModel,
    statement: Sql,
    filling: Partial<SlotValues>,
  ): Promise<RestoredRow[]> {
    const { tenantId: tenant, actor, limits } = this.#context;
    const limit = this.#remaining;
    const slots = { tenant, actor, limit, ...filling };
    try {
      const rows = await runSlots<RestoredRow>(this.#dependencies.statements, tx, statement, slots);
      if (rows.length > limit)
        throw tooManyAffected({ affected: limits.bulkRows + 1, limit: limits.bulkRows, name: 'bulkRows' });
      this.#remaining -= rows.length;
      return rows;
    } catch (error) {
      throw namedViolation(error, { collection, inputs: [], documents: [] });
    }
  }
}

/** `POST /api/{collection}/{id}/versions/{version}/restore`: gives a record the values of an earlier version, as a new version. */
export const restoreRecordVersion: RecordOperation = async (context, collection, request, dependencies) => {
  requireWrite(context, collection, 'update', request);
  writeQuery(request, {}, context);
  if (!collection.hasHistory) throw historyOff({ collection: collection.name });
  const id = requireId(request, collection);
  const version = versionOfPath(request, id);
  const isMinimal = isAnswerMinimal(context, collection, request);
  const fields = storedFields(collection).filter(
    ({ traits, definition }) => traits.isWritable && definition.immutable !== true,
  );
  const references = fields.filter(({ traits }) => traits.kind === 'reference');
  const planned = await planSave(
    context,
    { collection, mode: 'merge', isArray: false, inputs: [], isMinimal, parent: request.parent },
    dependencies,
  );
  const plan = {
    ...planned.plan,
    documents: [
      {
        id,
        expected: expectedVersion(request),
        values: Object.fromEntries(fields.map(({ column }) => [column, null])),
      },
    ],
    references: await referenceTargets(context, references, dependencies),
    source: versionInput(collection, fields),
    filling: { ...planned.plan.filling, at: String(version), version: expectedVersion(request) ?? null },
  };
  const saved = await dependencies.database.transaction(async (tx) => {
    const written = await runSave(context, { ...planned, plan }, dependencies, tx);
    await checkRestoredValues(context, tx, { collection, ids: [id] }, dependencies);
    return written;
  });
  if (saved.length === 0) throw versionUnknown({ id, version });
  const rows = openSavedRecords(saved, context, dependencies);
  return toSaveAnswer(rows, { collection, shape: context.shape, isArray: false, isMinimal, mayCreate: false });
};
