import type { CollectionModel } from '../model/collection-model.js';
import { ProblemList, type RecordProblem } from '../model/record-problem.js';
import { limitExceeded } from '../request/request-errors.js';
import { shown } from '../values/value-problem.js';
import { escapePointer, isJsonRecord, readResource, type RecordInput, type ResolveLid } from './record-input.js';
import { recordBodyInvalid } from './write-errors.js';

/** One operation of an atomic request, as the client wrote it. */
export interface AtomicOperation {
  readonly op: 'add' | 'update' | 'remove';
  readonly collection: string;
  /** Id or local id of the record to change or remove. */
  readonly ref: { readonly id: string | undefined; readonly lid: string | undefined };
  readonly data: unknown;
  /** The version that the record must have; undefined for any. */
  readonly expected: number | undefined;
  /** JSON pointer of the operation. */
  readonly at: string;
  /** JSON pointer of the name of its collection. */
  readonly typeAt: string;
}

const ops: readonly unknown[] = ['add', 'update', 'remove'];
const members = new Set(['op', 'ref', 'href', 'data', 'meta']);

/** Reads the body of a request with the extension Atomic Operations of JSON:API. Throws all problems of its structure. */
export function readAtomicOperations(body: unknown, allowed: number): AtomicOperation[] {
  const list = isJsonRecord(body) ? body['atomic:operations'] : undefined;
  if (!Array.isArray(list) || list.length === 0) {
    throw recordBodyInvalid({
      problems: [
        problem('/atomic:operations', 'The body must have an array "atomic:operations" with one operation or more.'),
      ],
    });
  }
  if (list.length > allowed) {
    const next = 'Send them in several requests.';
    throw limitExceeded({ limit: 'operations', value: list.length, allowed, next });
  }
  const problems = new ProblemList(recordBodyInvalid);
  const operations = list.map((each, index) => readOperation(each, `/atomic:operations/${index}`, problems));
  problems.throwIfAny();
  return operations;
}

function readOperation(value: unknown, at: string, problems: ProblemList): AtomicOperation {
  const operation = isJsonRecord(value) ? value : {};
  const { op, ref, data, href, meta } = operation;
  if (!ops.includes(op)) problems.add(problem(`${at}/op`, `"op" must be add, update or remove, not ${shown(op)}.`));
  for (const name of Object.keys(operation).filter((each) => !members.has(each))) {
    const detail = `An operation has no member "${name}". Send op, ref, data and meta.`;
    problems.add(problem(`${at}/${escapePointer(name)}`, detail));
  }
  if (href !== undefined) problems.add(problem(`${at}/href`, '"href" is not supported. Name the record with "ref".'));
  const target = isJsonRecord(ref) ? ref : isJsonRecord(data) ? data : {};
  const { type, id, lid } = target;
  const isByRef = op === 'remove' || (isJsonRecord(ref) && typeof type === 'string');
  const typeAt = isByRef ? `${at}/ref/type` : `${at}/data/type`;
  if (typeof type !== 'string') problems.add(problem(typeAt, 'The operation must name its collection as "type".'));
  if (op !== 'add' && typeof id !== 'string' && typeof lid !== 'string') {
    problems.add(problem(`${at}/ref`, `${shown(op)} must name its record with "id" or "lid".`));
  }
  return {
    op: op as AtomicOperation['op'], // a problem otherwise
    collection: typeof type === 'string' ? type : '', // a problem otherwise
    ref: { id: typeof id === 'string' ? id : undefined, lid: typeof lid === 'string' ? lid : undefined },
    data,
    expected: readExpected(op, meta, `${at}/meta`, problems),
    at,
    typeAt,
  };
}

/** Reads the version of `"meta": {"version": 3}`: for an operation it is what `If-Match` is for a request. */
function readExpected(op: unknown, meta: unknown, at: string, problems: ProblemList): number | undefined {
  if (meta === undefined) return undefined;
  const { version, ...others } = isJsonRecord(meta) ? meta : {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined || !Number.isSafeInteger(version) || Number(version) < 1) {
    const sent = JSON.stringify(meta).slice(0, 100);
    problems.add(
      problem(at, `"meta" of an operation is {"version": 3}, the version that its record must have, not ${sent}.`),
    );
  } else if (op === 'add') {
    problems.add(problem(at, 'A record that is added has no version yet. Leave "meta" out.'));
  }
  return typeof version === 'number' ? version : undefined;
}

/** Reads the record of an operation. `resolveLid` knows the records that operations before it add. */
export function readOperationInput(
  { data, at }: AtomicOperation,
  collection: CollectionModel,
  resolveLid: ResolveLid,
): RecordInput {
  const problems = new ProblemList(recordBodyInvalid);
  const input = readResource(data, `${at}/data`, { collection, problems, resolveLid });
  problems.throwIfAny();
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
