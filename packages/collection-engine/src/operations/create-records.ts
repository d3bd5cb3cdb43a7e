import { createHash } from 'node:crypto';
import type { RecordOperation, RecordRequest } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { conflictKey } from '../write/conflict-key.js';
import type { RecordInput } from '../write/record-input.js';
import type { SavePlan } from '../write/save-records.js';
import { recordBodyInvalid, writeParameterInvalid } from '../write/write-errors.js';
import { isAnswerMinimal, readInputs, requireWrite, writeQuery } from './prepare-write.js';
import { toSaveAnswer } from './save-answer.js';
import { save } from './save.js';

/**
 * `POST /api/{collection}`: creates one record or an array of them in one statement, all or none. With `on_conflict` records
 * whose value of that unique field or set exists are merged instead. With an `Idempotency-Key` a repeated request gets the first answer.
 */
export const createRecords: RecordOperation = async (context, collection, request, dependencies) => {
  requireWrite(context, collection, 'create', request);
  const { own } = writeQuery(request, { own: ['on_conflict'] }, context);
  const key = conflictKey(own.get('on_conflict'), collection, collection.api.clientIds);
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
