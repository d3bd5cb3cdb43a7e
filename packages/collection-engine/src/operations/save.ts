import { isUniqueViolation, type Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import { ProblemList } from '../model/record-problem.js';
import type { OperationDependencies, ParentRecord } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import type { Sql } from '../sql/sql.js';
import { computedFields } from '../formula/computed-fields.js';
import { codecsOf } from '../values/field-codec.js';
import { shown } from '../values/value-problem.js';
import { claimedAttributes } from '../write/claimed-values.js';
import { keyValues, type ConflictKey } from '../write/conflict-key.js';
import type { RecordDocument } from '../write/input-rows.js';
import { newRecordIds } from '../write/record-id.js';
import type { RecordInput } from '../write/record-input.js';
import { checkNewRecords, rulesOfStatement } from '../write/record-rules.js';
import { runStatement } from '../write/run-statement.js';
import { toStoredValues, type ValuesMode } from '../write/record-values.js';
import { namedViolation, throwProblems } from '../write/save-problems.js';
import { saveRecords, type SavePlan } from '../write/save-records.js';
import type { SavedRow } from '../write/save-statement.js';
import { isShareable, sharedSavesOf } from '../write/shared-saves.js';
import { idempotencyKeyReused, recordInvalid, uniqueViolation } from '../write/write-errors.js';
import { findReferences, isRecordId } from './prepare-write.js';
import { recordView } from './record-view.js';

/** A write of records whose values are not checked yet. */
export interface SaveRequest {
  readonly collection: CollectionModel;
  readonly mode: ValuesMode;
  readonly isArray: boolean;
  readonly inputs: readonly RecordInput[];
  readonly isMinimal: boolean;
  /** Whether the caller needs no row per record: a write without a problem then returns none. */
  readonly isSilent?: boolean;
  /** Versions that the records must have, by index; undefined for any. */
  readonly expected?: readonly (number | undefined)[];
  /** By what an upsert finds existing records. */
  readonly key?: ConflictKey | undefined;
  /** Whether new records keep the ids that they have, although the collection chooses ids itself: an import brings records back. */
  readonly keepsIds?: boolean;
  readonly idempotency?: SavePlan['idempotency'];
  /** In place of ids: the records that an update changes, and how many at most. */
  readonly which?: { readonly condition: (alias: Sql) => Sql; readonly maxAffected: number } | undefined;
  /** The record that the records must belong to. */
  readonly parent?: ParentRecord | undefined;
  /** Ids of new records that the platform has chosen before, by index. */
  readonly newIds?: readonly (string | undefined)[];
}

/** A write that is checked as far as that is possible without the database. */
interface PlannedSave {
  readonly request: SaveRequest;
  readonly plan: SavePlan;
}

/** Checks the records of a request and writes them; returns one row per record, unless it is silent. */
export async function save(
  context: RecordContext,
  request: SaveRequest,
  dependencies: OperationDependencies,
): Promise<SavedRow[]> {
  const rows = await runSave(context, await planSave(context, request, dependencies), dependencies);
  return openSavedRecords(rows, context, dependencies);
}

/** Puts the values of encrypted fields in the place of their marks. */
export function openSavedRecords(
  rows: readonly SavedRow[],
  { tenantId }: Pick<RecordContext, 'tenantId'>,
  { cipher }: Pick<OperationDependencies, 'cipher'>,
): SavedRow[] {
  return rows.map((row) => (row.record === null ? row : { ...row, record: cipher.openAll(tenantId, row.record) }));
}

const kinds = { create: 'create', replace: 'update', merge: 'update', upsert: 'upsert' } as const;

/** Checks the records of a request, and finds the collections that they refer to. */
export async function planSave(
  context: RecordContext,
  request: SaveRequest,
  dependencies: OperationDependencies,
): Promise<PlannedSave> {
  const { collection, mode, isArray, key, idempotency, isMinimal } = request;
  const documents = toDocuments(request, dependencies);
  const claimed = new Set(documents.flatMap(({ claims = {} }) => Object.keys(claims)));
  const plan: SavePlan = {
    ...(await planClaims(context, collection, claimed, dependencies)),
    collection,
    kind: kinds[mode],
    isArray,
    documents,
    key,
    which: request.which?.condition,
    parent: kinds[mode] === 'update' ? request.parent?.field : undefined,
    filling: {
      ...(request.which && { limit: request.which.maxAffected }),
      ...(request.parent && { parent: request.parent.id }),
    },
    idempotency,
    isSilent: request.isSilent,
    references: await findReferences(context, collection, documents, dependencies),
    rules: rulesOfStatement(collection, kinds[mode]),
    view: isMinimal ? { name: 'minimal', json: undefined } : await recordView(collection, context, dependencies),
  };
  return { request, plan };
}

/** Finds how to compare values that the platform sets. */
async function planClaims(
  context: RecordContext,
  collection: CollectionModel,
  names: ReadonlySet<string>,
  dependencies: OperationDependencies,
): Promise<Pick<SavePlan, 'claims' | 'claimsOf'>> {
  if (names.size === 0) return { claims: [] };
  const computed = await computedFields(collection, dependencies.find, context.access);
  const { name } = await recordView(collection, context, dependencies);
  return { claims: claimedAttributes(collection, [...names].toSorted(), computed), claimsOf: name };
}

/** Checks all values of all records; throws one error with everything that is wrong. */
function toDocuments(
  { collection, mode, inputs, key, expected = [], newIds = [], keepsIds = false, which }: SaveRequest,
  { cipher, clock, randomness }: OperationDependencies,
): RecordDocument[] {
  const problems = new ProblemList(recordInvalid);
  const nowMs = clock.now();
  const mayClaim = mode !== 'create' && which === undefined;
  const context = { collection, codecs: codecsOf(collection, cipher), mode, nowMs, mayClaim };
  const isNew = mode === 'create' || mode === 'upsert';
  const idOf = newRecordIds(nowMs, randomness);
  const documents = inputs.map((input, index): RecordDocument => {
    const sent: Record<string, unknown> = {};
    const values = toStoredValues(input, context, problems, sent);
    const { version: sentVersion = mayClaim ? input.metaVersion : undefined, ...claims } = sent;
    const id = isNew ? (newIds[index] ?? newId(input, collection, { keepsIds, problems })) : input.id;
    return {
      id: id ?? idOf(index),
      values,
      ...(mode === 'upsert' && { given: givenColumns(input, collection) }),
      expected: expectedOf(input, expected[index], sentVersion, problems),
      ...(Object.keys(claims).length > 0 && { claims }),
    };
  });
  problems.throwIfAny();
  if (mode === 'create') checkNewRecords(collection, inputs, documents, nowMs);
  if (key) checkDistinct(key, inputs, documents);
  return documents;
}

/** The version of a record that is written back is what `If-Match` is: the version that the record must have. */
function expectedOf(
  input: RecordInput,
  expected: number | undefined,
  sent: unknown,
  problems: ProblemList,
): number | undefined {
  if (sent === undefined || sent === expected) return expected;
  const isVersion = typeof sent === 'number' && Number.isSafeInteger(sent) && sent > 0;
  const pointer = Object.hasOwn(input.values, 'version') ? input.pointer('version') : `${input.at}/meta/version`;
  if (expected === undefined && isVersion) return sent;
  const detail = isVersion
    ? `The record has version ${sent}, but If-Match or "meta" of the operation names ${expected}. Send one of them.`
    : `"version" is ${shown(sent)}, but a version is a whole number. Send the one that you have read, or leave it out.`;
  problems.add({ code: 'readOnly', detail, source: { pointer } });
  return expected;
}

/** One statement changes a record once: of two changes by the same key, one would be lost without a word. */
function checkDistinct(key: ConflictKey, inputs: readonly RecordInput[], documents: readonly RecordDocument[]): void {
  const seen = new Set<string>();
  for (const [index, document] of documents.entries()) {
    const value = keyValues(key, document);
    if (value === undefined) continue;
    if (seen.has(value)) {
      const detail = `Two records of the request have the same "${key.name}": ${value}. Merge them, or send them one after the other.`;
      const source = { pointer: inputs[index]?.pointer(key.fields[0]?.name ?? 'id') ?? '' };
      throw uniqueViolation({ problems: [{ code: 'UNIQUE_VIOLATION', detail, source }] });
    }
    seen.add(value);
  }
}

/** Returns the id that the client chose for a new record, if the collection allows that; undefined for a new one. */
function newId(
  input: RecordInput,
  collection: CollectionModel,
  { keepsIds, problems }: { readonly keepsIds: boolean; readonly problems: ProblemList },
): string | undefined {
  const { id, at } = input;
  if (id === undefined) return undefined;
  const source = { pointer: `${at}/id` };
  if (!collection.api.clientIds && !keepsIds) {
    const detail = `"${collection.name}" chooses ids itself. Leave "id" out, or allow "api.clientIds" in its definition.`;
    problems.add({ code: 'clientIds', detail, source });
  } else if (!isRecordId(id)) {
    problems.add({ code: 'type', detail: `The id ${JSON.stringify(id)} is not a UUID.`, source });
  }
  return id.toLowerCase();
}

const givenColumns = ({ values }: RecordInput, { fields }: CollectionModel): string[] =>
  Object.keys(values).map((name) => fields.get(name)?.column ?? name);

/**
 * Runs a planned write; returns one row per record, with encrypted values as marks. `within` is the transaction that it is part of.
 */
export async function runSave(
  context: RecordContext,
  { request, plan }: PlannedSave,
  { database, statements, clock }: OperationDependencies,
  within?: Queryable,
): Promise<SavedRow[]> {
  const by = { ...context, statements };
  const { waitFor = (result) => result } = database;
  const written = { ...request, documents: plan.documents };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const rows =
        within === undefined && isShareable(plan)
          ? await waitFor(sharedSavesOf(database, clock).save(plan, by, database))
          : await runStatement(database, (target) => saveRecords(target, plan, by), within);
      const replayed = rows.find(({ problem }) => problem === 'replayed');
      if (!replayed) throwProblems(rows, written);
      return replayed ? replayedRows(replayed, plan) : rows;
    } catch (error) {
      if (within || attempt >= attemptsOf(plan) || !isUniqueViolation(error)) throw namedViolation(error, written);
    }
  }
}

/**
 * A concurrent request may have used the idempotency key, or created the record of an upsert: both violate a unique index, and the
 * next attempt finds what that request has written. A record of an upsert can be deleted in between, so there are a few attempts.
 */
const attemptsOf = ({ kind, idempotency }: SavePlan): number =>
  kind === 'upsert' ? 5 : idempotency && idempotency.isNew !== true ? 2 : 1;

/** Returns the rows of the first request with the same key. They were stored by the statement that wrote the records. */
function replayedRows({ subject }: SavedRow, { idempotency }: SavePlan): SavedRow[] {
  if (subject === null) throw idempotencyKeyReused({ key: idempotency?.key ?? '' });
  return JSON.parse(subject) as SavedRow[]; // written by `rememberedAnswer`
}
