import type { CollectionModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import { isJsonRecord, readResource, type RecordInput, type ResolveLid } from './record-input.js';
import { recordBodyInvalid } from './write-errors.js';

/** One operation of an atomic request, as the client wrote it. */
export interface AtomicOperation {
  readonly op: 'add' | 'update' | 'remove';
  readonly collection: string;
  /** Id or local id of the record to change or remove. */
  readonly ref: { readonly id: string | undefined; readonly lid: string | undefined };
  readonly data: unknown;
  /** JSON pointer of the operation. */
  readonly at: string;
}

const ops: readonly unknown[] = ['add', 'update', 'remove'];

/** Reads the body of a request with the extension Atomic Operations of JSON:API. Rejects with all problems of its structure. */
export function readAtomicOperations(body: unknown): AtomicOperation[] {
  const list = isJsonRecord(body) ? body['atomic:operations'] : undefined;
  if (!Array.isArray(list) || list.length === 0) {
    throw recordBodyInvalid({
      problems: [
        problem('/atomic:operations', 'The body must have an array "atomic:operations" with one operation or more.'),
      ],
    });
  }
  const problems: RecordProblem[] = [];
  const operations = list.map((each, index) => readOperation(each, `/atomic:operations/${index}`, problems));
  if (problems.length > 0) throw recordBodyInvalid({ problems });
  return operations;
}

function readOperation(value: unknown, at: string, problems: RecordProblem[]): AtomicOperation {
  const operation = isJsonRecord(value) ? value : {};
  const { op, ref, data, href } = operation;
  if (!ops.includes(op))
    problems.push(problem(`${at}/op`, `"op" must be add, update or remove, not ${JSON.stringify(op)}.`));
  if (href !== undefined) problems.push(problem(`${at}/href`, '"href" is not supported. Name the record with "ref".'));
  const target = isJsonRecord(ref) ? ref : isJsonRecord(data) ? data : {};
  const { type, id, lid } = target;
  if (typeof type !== 'string') {
    const place = op === 'remove' ? `${at}/ref/type` : `${at}/data/type`;
    problems.push(problem(place, 'The operation must name its collection as "type".'));
  }
  if (op !== 'add' && typeof id !== 'string' && typeof lid !== 'string') {
    problems.push(problem(`${at}/ref`, `"${String(op)}" must name its record with "id" or "lid".`));
  }
  return {
    op: op as AtomicOperation['op'], // a problem otherwise
    collection: String(type),
    ref: { id: typeof id === 'string' ? id : undefined, lid: typeof lid === 'string' ? lid : undefined },
    data,
    at,
  };
}

/** Reads the record of an operation. `resolveLid` knows the records that operations before it add. */
export function readOperationInput(
  { data, at }: AtomicOperation,
  collection: CollectionModel,
  resolveLid: ResolveLid,
): RecordInput {
  const problems: RecordProblem[] = [];
  const input = readResource(data, `${at}/data`, { collection, problems, resolveLid });
  if (problems.length > 0) throw recordBodyInvalid({ problems });
  return input;
}

export const unknownLid = ({ at, ref }: AtomicOperation): Error =>
  recordBodyInvalid({
    problems: [problem(`${at}/ref/lid`, `No operation before this one adds a record with the lid "${ref.lid ?? ''}".`)],
  });

const problem = (pointer: string, detail: string): RecordProblem => ({
  code: 'INVALID_PAYLOAD',
  detail,
  source: { pointer },
});
