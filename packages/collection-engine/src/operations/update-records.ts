import type { CollectionModel } from '../model/collection-model.js';
import type { OperationDependencies, RecordOperation, RecordRequest } from '../request/record-operation.js';
import type { RecordAnswer, RecordContext } from '../request/record-context.js';
import { recordNotFound } from '../request/request-errors.js';
import type { RecordInput } from '../write/record-input.js';
import { recordBodyInvalid } from '../write/write-errors.js';
import {
  expectedVersion,
  isAnswerMinimal,
  isRecordId,
  readInputs,
  requireExistingParent,
  requireId,
  requireWrite,
  selectByFilter,
  writeQuery,
} from './prepare-write.js';
import { affectedAnswer, toSaveAnswer } from './save-answer.js';
import { save } from './save.js';

/** `PATCH /api/{collection}/{id}`: changes the given values of a record. */
export const updateRecord: RecordOperation = (context, collection, request, dependencies) =>
  changeOne(context, collection, request, dependencies, 'merge');

/** `PUT /api/{collection}/{id}`: replaces all values of a record; absent ones become their default, or nothing. */
export const replaceRecord: RecordOperation = (context, collection, request, dependencies) =>
  changeOne(context, collection, request, dependencies, 'replace');

/**
 * `PATCH /api/{collection}`: changes the records of an array, each named by its id; or, with one record without an id, gives its values
 * to all records that `filter` selects, at most `max_affected`.
 */
export const updateRecords: RecordOperation = async (context, collection, request, dependencies) => {
  requireWrite(context, collection, 'update', request);
  const { isArray, inputs } = readInputs(context, collection, request);
  const [input] = inputs;
  if (isArray || input?.id !== undefined)
    return changeMany(context, { collection, inputs }, request, dependencies, 'merge');
  const which = await selectByFilter(context, collection, request, dependencies);
  const { parent } = request;
  const rows = await save(
    context,
    { collection, mode: 'merge', isArray: false, inputs, isMinimal: true, which, parent },
    dependencies,
  );
  if (rows.length === 0) await requireExistingParent(context, request, dependencies);
  return affectedAnswer(rows.length, request);
};

/** `PUT /api/{collection}` with an array of records with ids: replaces all of them, or none. */
export const replaceRecords: RecordOperation = async (context, collection, request, dependencies) => {
  requireWrite(context, collection, 'update', request);
  const { inputs } = readInputs(context, collection, request);
  return changeMany(context, { collection, inputs }, request, dependencies, 'replace');
};

async function changeOne(
  context: RecordContext,
  collection: CollectionModel,
  request: RecordRequest,
  dependencies: OperationDependencies,
  mode: 'merge' | 'replace',
): Promise<RecordAnswer> {
  requireWrite(context, collection, 'update', request);
  writeQuery(request, {}, context);
  const id = requireId(request, collection);
  const expected = [expectedVersion(request)];
  const { isArray, inputs } = readInputs(context, collection, request);
  const [input] = inputs;
  if (isArray || !input) throw bodyProblem('', `Send one record to ${request.path}, not an array.`);
  if (input.id !== undefined && input.id.toLowerCase() !== id) {
    throw bodyProblem(`${input.at}/id`, `The id in the body is ${JSON.stringify(input.id)}, but the path names ${id}.`);
  }
  const isMinimal = isAnswerMinimal(context, collection, request);
  const rows = await save(
    context,
    { collection, mode, isArray: false, inputs: [{ ...input, id }], isMinimal, expected, parent: request.parent },
    dependencies,
  );
  if (rows.length === 0) throw recordNotFound({ collection: collection.name, id });
  return toSaveAnswer(rows, { collection, shape: context.shape, isArray, isMinimal, mayCreate: false });
}

/** Changes the records of an array, each named by its id, in one statement. */
async function changeMany(
  context: RecordContext,
  { collection, inputs }: { readonly collection: CollectionModel; readonly inputs: readonly RecordInput[] },
  request: RecordRequest,
  dependencies: OperationDependencies,
  mode: 'merge' | 'replace',
): Promise<RecordAnswer> {
  writeQuery(request, {}, context);
  const isMinimal = isAnswerMinimal(context, collection, request);
  const named = withIds(inputs);
  const { parent } = request;
  const rows = await save(context, { collection, mode, isArray: true, inputs: named, isMinimal, parent }, dependencies);
  return toSaveAnswer(rows, { collection, shape: context.shape, isArray: true, isMinimal, mayCreate: false });
}

/** Throws unless every record has an id, and each another one. */
function withIds(inputs: readonly RecordInput[]): RecordInput[] {
  const seen = new Set<string>();
  return inputs.map((input) => {
    const id = input.id?.toLowerCase();
    if (id === undefined || !isRecordId(id)) {
      throw bodyProblem(
        `${input.at}/id`,
        `Each record of the array needs the id of an existing record, not ${JSON.stringify(input.id)}.`,
      );
    }
    if (seen.has(id))
      throw bodyProblem(`${input.at}/id`, `The record ${id} is in the array twice. Merge both changes.`);
    seen.add(id);
    return { ...input, id };
  });
}

const bodyProblem = (pointer: string, detail: string): Error =>
  recordBodyInvalid({ problems: [{ code: 'INVALID_PAYLOAD', detail, source: { pointer } }] });
