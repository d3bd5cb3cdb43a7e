import { createHash } from 'node:crypto';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import type { RecordOperation, RecordRequest } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import type { RecordInput } from '../write/record-input.js';
import type { SavePlan } from '../write/save-records.js';
import { recordBodyInvalid, writeParameterInvalid } from '../write/write-errors.js';
import { isAnswerMinimal, readInputs, requireWrite, writeQuery } from './prepare-write.js';
import { toSaveAnswer } from './save-answer.js';
import { save } from './save.js';

/**
 * `POST /api/{collection}`: creates one record or an array of them in one statement, all or none. With `on_conflict=field` records
 * whose value of that unique field exists are merged instead. With an `Idempotency-Key` a repeated request gets the first answer.
 */
export const createRecords: RecordOperation = async (context, collection, request, dependencies) => {
  requireWrite(context, collection, 'create', request);
  const key = conflictField(writeQuery(request, { own: ['on_conflict'] }, context).own.get('on_conflict'), collection);
  if (key) requireWrite(context, collection, 'update', request);
  const { isArray, inputs } = readInputs(context, collection, request);
  const isMinimal = isAnswerMinimal(context, collection, request);
  const rows = await save(
    context,
    {
      collection,
      mode: key ? 'upsert' : 'create',
      isArray,
      inputs: request.parent ? inputs.map((input) => withParent(input, request.parent)) : inputs,
      isMinimal,
      key,
      parent: request.parent,
      idempotency: idempotencyOf(request, context, isMinimal),
    },
    dependencies,
  );
  return toSaveAnswer(rows, { collection, shape: context.shape, isArray, isMinimal, mayCreate: true });
};

/** A record that is created under its parent belongs to it, and cannot name another one. */
function withParent(input: RecordInput, parent: RecordRequest['parent']): RecordInput {
  if (!parent) return input;
  const { name } = parent.field;
  const { [name]: given = parent.id } = input.values;
  if (typeof given !== 'string' || given.toLowerCase() !== parent.id.toLowerCase()) {
    const detail = `The path names ${parent.id} as "${name}", but the record ${JSON.stringify(given)}. Leave "${name}" out.`;
    throw recordBodyInvalid({
      problems: [{ code: 'INVALID_PAYLOAD', detail, source: { pointer: input.pointer(name) } }],
    });
  }
  return { ...input, values: { ...input.values, [name]: parent.id } };
}

/** Returns the unique field that `on_conflict` names. */
export function conflictField(name: string | undefined, collection: CollectionModel): FieldModel | undefined {
  if (name === undefined) return undefined;
  const field = collection.fields.get(name);
  if (field?.isUnique && field.traits.isWritable) return field;
  const unique = [...collection.fields.values()].filter(({ isUnique }) => isUnique).map((each) => `"${each.name}"`);
  const offered = unique.length === 0 ? 'It has no unique field.' : `Name one of ${unique.join(', ')}.`;
  const detail = `on_conflict names "${name}", which is not a unique field of "${collection.name}". ${offered}`;
  throw writeParameterInvalid({
    problems: [{ code: 'INVALID_PARAMETER', detail, source: { parameter: 'on_conflict' } }],
  });
}

const maxKeyLength = 255;

/** A key belongs to one request: the same path, query, body and form of the answer. */
export function idempotencyOf(
  { headers, path, query, body }: RecordRequest,
  { shape }: RecordContext,
  isMinimal: boolean,
): SavePlan['idempotency'] {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (key === '' || key.length > maxKeyLength) {
    const detail = `The header Idempotency-Key has ${key.length} characters. Send 1 to ${maxKeyLength}.`;
    throw writeParameterInvalid({
      problems: [{ code: 'INVALID_PARAMETER', detail, source: { header: 'Idempotency-Key' } }],
    });
  }
  const head = JSON.stringify([path, query, shape, isMinimal]);
  return { key, fingerprint: createHash('sha256').update(head).update(body).digest('base64url') };
}
