import type { Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import type { OperationDependencies, ParentRecord, RecordOperation } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { recordAccessDenied, recordNotFound } from '../request/request-errors.js';
import type { Sql } from '../sql/sql.js';
import { findCascade, type Cascade, type ReferringField } from '../write/cascade.js';
import {
  childrenOf,
  clearStatement,
  referringBy,
  removeStatement,
  withIds,
  type RemovedRow,
} from '../write/remove-statement.js';
import { readRecordInputs } from '../write/record-input.js';
import { runStatement } from '../write/run-statement.js';
import { runSlots, type SlotValues } from '../write/statement-slots.js';
import { recordBodyInvalid, referencedRecord, staleWrite, tooManyAffected } from '../write/write-errors.js';
import {
  expectedVersion,
  isRecordId,
  readBodyJson,
  requireBulkLimit,
  requireExistingParent,
  requireId,
  requireWrite,
  selectByFilter,
  writeQuery,
} from './prepare-write.js';
import { queryErrors } from './run-query.js';
import { affectedAnswer } from './save-answer.js';

/** `DELETE /api/{collection}/{id}`: removes a record with its details, or marks them as deleted. */
export const deleteRecord: RecordOperation = async (context, collection, request, dependencies) => {
  requireWrite(context, collection, 'delete', request);
  writeQuery(request, {}, context);
  const id = requireId(request, collection);
  const removal = { ids: [id], expected: expectedVersion(request), parent: request.parent };
  await removeRecords(context, collection, removal, dependencies);
  return { status: 204, headers: {}, body: undefined };
};

/** `DELETE /api/{collection}`: removes the records of an array, or those that `filter` selects, at most `max_affected`. */
export const deleteRecords: RecordOperation = async (context, collection, request, dependencies) => {
  requireWrite(context, collection, 'delete', request);
  const { parent } = request;
  if (request.body.length > 0) {
    writeQuery(request, {}, context);
    const ids = readIds(context, readBodyJson(request), collection);
    await removeRecords(context, collection, { ids, parent }, dependencies);
    return { status: 204, headers: {}, body: undefined };
  }
  const { condition, maxAffected } = await selectByFilter(context, collection, request, dependencies);
  const removal = { ids: [], which: condition, maxAffected, parent };
  const removed = await queryErrors(removeRecords(context, collection, removal, dependencies), 'filter');
  if (removed === 0) await requireExistingParent(context, request, dependencies);
  return affectedAnswer(removed, request);
};

/** Reads an array of ids, of objects with an id, or a JSON:API document with resource identifiers. */
function readIds(context: RecordContext, body: unknown, collection: CollectionModel): string[] {
  const isIds = Array.isArray(body) && body.every((each) => typeof each === 'string');
  const { inputs } = readRecordInputs(isIds ? body.map((id) => ({ id })) : body, collection, (records) =>
    requireBulkLimit(context, records),
  );
  const ids = inputs.map(({ id, at }) => {
    if (id !== undefined && isRecordId(id)) return id.toLowerCase();
    const detail = `The id of each record must be a UUID, not ${JSON.stringify(id)}.`;
    throw recordBodyInvalid({ problems: [{ code: 'INVALID_PAYLOAD', detail, source: { pointer: `${at}/id` } }] });
  });
  return [...new Set(ids)];
}

/** Records to delete: by id, all of which must exist, or by a condition. */
interface Removal {
  readonly ids: readonly string[];
  /** Expected version of a single record. */
  readonly expected?: number | undefined;
  /** In place of ids. */
  readonly which?: ((alias: Sql) => Sql) | undefined;
  /** The record that the records must belong to. */
  readonly parent?: ParentRecord | undefined;
  /** Most records, without what a cascade reaches; the limit `bulkRows` by default. */
  readonly maxAffected?: number | undefined;
}

/**
 * Deletes records and everything that the deletion of them reaches. Returns the number of records that were selected. Without
 * references to the collection this is one statement; else a transaction that deletes the records first: from then on no other
 * transaction can refer to them, and the statements after it see all that did before.
 */
export async function removeRecords(
  context: RecordContext,
  collection: CollectionModel,
  removal: Removal,
  dependencies: OperationDependencies,
  within?: Queryable,
): Promise<number> {
  const cascade = await findCascade(collection, dependencies.findReferrers);
  requireCascadeAccess(context, cascade);
  const run = (target: Queryable): Promise<number> =>
    new RemovalRun(context, cascade, dependencies).remove(target, collection, removal);
  const isAlone = (cascade.get(collection.name) ?? []).length === 0 && removal.ids.length <= 1;
  return isAlone || within ? runStatement(dependencies.database, run, within) : dependencies.database.transaction(run);
}

/** Throws unless the caller may write all records that a deletion, or a restoration, changes. */
export function requireCascadeAccess({ access }: RecordContext, cascade: Cascade): void {
  for (const { collection, effect } of [...cascade.values()].flat()) {
    if (effect !== 'refuse' && !access.mayWrite(collection)) {
      throw recordAccessDenied({ collection: collection.name, right: 'write' });
    }
  }
}

/** One deletion with its cascade, and how many records it may still change. */
class RemovalRun {
  readonly #context: RecordContext;
  readonly #cascade: Cascade;
  readonly #statements: OperationDependencies['statements'];
  #remaining: number;

  constructor(context: RecordContext, cascade: Cascade, { statements }: OperationDependencies) {
    this.#context = context;
    this.#cascade = cascade;
    this.#statements = statements;
    this.#remaining = context.limits.bulkRows;
  }

  async remove(target: Queryable, collection: CollectionModel, removal: Removal): Promise<number> {
    const { ids, expected, which = withIds, maxAffected, parent } = removal;
    const limit = Math.min(maxAffected ?? this.#remaining, this.#remaining);
    const isSelected = parent ? childrenOf(collection, parent.field, which) : which;
    const statement = removeStatement(collection, isSelected, { isConditional: expected !== undefined });
    const filling = { ids, limit, version: expected ?? null, ...(parent && { parent: parent.id }) };
    const rows = await this.#run(target, statement, filling);
    if (rows.length > limit) {
      throw tooManyAffected({
        affected: rows.length,
        limit,
        name: maxAffected === undefined ? 'bulkRows' : 'max_affected',
      });
    }
    const stale = rows.find(({ removed }) => !removed);
    if (stale) throw staleWrite({ id: stale.id, expected: expected ?? 0, version: stale.version });
    const found = new Set(rows.map(({ id }) => id));
    const missing = removal.which ? undefined : ids.find((id) => !found.has(id));
    if (missing !== undefined) throw recordNotFound({ collection: collection.name, id: missing });
    this.#remaining -= rows.length;
    await this.#follow(
      target,
      collection,
      rows.map(({ id }) => id),
    );
    return rows.length;
  }

  async #follow(target: Queryable, { name, isSoftDelete }: CollectionModel, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    for (const referring of this.#cascade.get(name) ?? []) await this.#reach(target, referring, ids, isSoftDelete);
  }

  async #reach(
    target: Queryable,
    { collection, field, effect }: ReferringField,
    ids: readonly string[],
    isHidden: boolean,
  ): Promise<void> {
    const limit = effect === 'refuse' ? 0 : this.#remaining;
    const statement =
      effect === 'clear'
        ? clearStatement(collection, field, { isHidden })
        : removeStatement(collection, referringBy(collection, field), { isConditional: false });
    const rows = await this.#run(target, statement, { ids, limit });
    if (effect === 'refuse' && rows.length > 0) {
      throw referencedRecord({ collection: collection.name, field: field.name });
    }
    if (rows.length > limit) {
      throw tooManyAffected({
        affected: this.#context.limits.bulkRows + 1,
        limit: this.#context.limits.bulkRows,
        name: 'bulkRows',
      });
    }
    this.#remaining -= rows.length;
    if (effect === 'delete')
      await this.#follow(
        target,
        collection,
        rows.map(({ id }) => id),
      );
  }

  #run(target: Queryable, statement: Sql, filling: Partial<SlotValues>): Promise<RemovedRow[]> {
    const { tenantId, actor } = this.#context;
    return runSlots<RemovedRow>(this.#statements, target, statement, { tenant: tenantId, actor, ...filling });
  }
}
