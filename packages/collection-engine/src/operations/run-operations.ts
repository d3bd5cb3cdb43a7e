import { CodedError, isCodedError } from '@drover/contracts';
import type { Queryable } from '@drover/database';
import type { CollectionModel } from '../model/collection-model.js';
import type { OperationDependencies, RecordRequest, TenantOperation } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { recordNotFound } from '../request/request-errors.js';
import {
  readAtomicOperations,
  readOperationInput,
  unknownLid,
  type AtomicOperation,
} from '../write/atomic-operations.js';
import { lockRecordsStatement } from '../write/lock-records.js';
import { newRecordIds } from '../write/record-id.js';
import type { RecordInput } from '../write/record-input.js';
import { runSlots } from '../write/statement-slots.js';
import { idempotencyOf } from './create-records.js';
import { removeRecords } from './delete-records.js';
import { isAnswerMinimal, isRecordId, readBodyJson, requireWrite, wantsMinimal, writeQuery } from './prepare-write.js';
import { runRemembered } from './remembered-answer.js';
import { planSave, runSave } from './save.js';

/** Operations in a row of one kind on one collection: one statement runs all of them. */
interface Batch {
  readonly op: AtomicOperation['op'];
  readonly collection: CollectionModel;
  readonly operations: AtomicOperation[];
  readonly inputs: RecordInput[];
  readonly ids: string[];
  /** Versions that the records must have, by index. */
  readonly expected: (number | undefined)[];
}

/** A batch that is checked; `run` returns the JSON of the result of each of its operations. */
interface PlannedBatch extends Batch {
  readonly run: (within?: Queryable) => Promise<string[]>;
}

/**
 * `POST /api/operations`: adds, updates and removes records of several collections, all or none. Everything that can be checked
 * without the database is checked before the first statement.
 */
export const runOperations: TenantOperation = async (context, request, dependencies) => {
  writeQuery(request, {}, context);
  const operations = readAtomicOperations(readBodyJson(request), context.limits.operations);
  const isMinimal = wantsMinimal(request);
  const batches: PlannedBatch[] = [];
  for (const batch of await toBatches(context, operations, dependencies)) {
    batches.push(await planBatch(context, batch, request, dependencies));
  }
  const isShown = !isMinimal && batches.every(({ collection }) => context.access.mayRead(collection));
  const idempotency = idempotencyOf(request, context, !isShown);
  const results = idempotency
    ? await runRemembered(context, idempotency, (tx) => runAll(context, batches, tx, dependencies), dependencies)
    : await runBatches(context, batches, dependencies);
  if (isMinimal || operations.every(({ op }) => op === 'remove')) return { status: 204, headers: {}, body: undefined };
  const headers = { 'content-type': 'application/vnd.api+json;ext="https://jsonapi.org/ext/atomic"' };
  return {
    status: 200,
    headers,
    body: dependencies.cipher.openAll(context.tenantId, `{"atomic:results":[${results.join(',')}]}`),
  };
};

/** A single batch is a statement of its own, and needs no transaction around it. */
async function runBatches(
  context: RecordContext,
  batches: readonly PlannedBatch[],
  dependencies: OperationDependencies,
): Promise<string[]> {
  const [first, second] = batches;
  if (first && !second) return first.run();
  return dependencies.database.transaction((tx) => runAll(context, batches, tx, dependencies));
}

async function runAll(
  { tenantId }: RecordContext,
  batches: readonly PlannedBatch[],
  tx: Queryable,
  { statements }: OperationDependencies,
): Promise<string[]> {
  const changed = batches.filter(({ op }) => op !== 'add');
  const lock = lockRecordsStatement(
    changed.map(({ op, collection, ids }) => ({ collection, ids, isRemoval: op === 'remove' })),
  );
  if (lock) await runSlots(statements, tx, lock, { tenant: tenantId });
  const results: string[] = [];
  for (const { run } of batches) results.push(...(await run(tx)));
  return results;
}

const apiSwitches = { add: 'create', update: 'update', remove: 'delete' } as const;

async function toBatches(
  context: RecordContext,
  operations: readonly AtomicOperation[],
  { find, clock, randomness }: OperationDependencies,
): Promise<Batch[]> {
  const newIdOf = newRecordIds(clock.now(), randomness);
  const lids = new Map<string, string>();
  const resolveLid = (collection: string, lid: string): string | undefined => lids.get(`${collection}/${lid}`);
  const batches: Batch[] = [];
  for (const [index, operation] of operations.entries()) {
    const { op, ref } = operation;
    const collection = await collectionOf(context, operation, find);
    const input = op === 'remove' ? undefined : readOperationInput(operation, collection, resolveLid);
    const known = ref.id ?? resolveLid(collection.name, ref.lid ?? '');
    if (op !== 'add' && known === undefined) throw unknownLid(operation);
    const id = op === 'add' ? newIdOf(index) : (known ?? '').toLowerCase();
    if (!isRecordId(id)) throw at(operation, recordNotFound({ collection: collection.name, id }));
    if (op === 'add' && ref.lid !== undefined) lids.set(`${collection.name}/${ref.lid}`, input?.id ?? id);
    const batch = batchFor(batches, operation, collection, id);
    batch.operations.push(operation);
    if (input) batch.inputs.push(op === 'add' ? input : { ...input, id });
    batch.ids.push(id);
    batch.expected.push(operation.expected);
  }
  return batches;
}

/** Finds the collection of an operation and asks for access to it; errors name the place of its "type". */
async function collectionOf(
  context: RecordContext,
  operation: AtomicOperation,
  find: OperationDependencies['find'],
): Promise<CollectionModel> {
  try {
    const collection = await find(context.tenantId, operation.collection);
    requireWrite(context, collection, apiSwitches[operation.op], { parent: undefined });
    return collection;
  } catch (error) {
    throw isCodedError(error) && error.fault === 'caller' ? at(operation, error, operation.typeAt) : error;
  }
}

/**
 * Returns the last batch if the operation can join it. A second change of one record has to wait for the first. A removal that expects a
 * version is a batch of its own: its statement takes one version.
 */
function batchFor(batches: Batch[], { op, expected }: AtomicOperation, collection: CollectionModel, id: string): Batch {
  const last = batches.at(-1);
  const isAlone = op === 'remove' && (expected !== undefined || last?.expected[0] !== undefined);
  if (last?.op === op && last.collection === collection && !last.ids.includes(id) && !isAlone) return last;
  const batch: Batch = { op, collection, operations: [], inputs: [], ids: [], expected: [] };
  batches.push(batch);
  return batch;
}

async function planBatch(
  context: RecordContext,
  batch: Batch,
  request: Pick<RecordRequest, 'headers'>,
  dependencies: OperationDependencies,
): Promise<PlannedBatch> {
  const { op, collection, inputs, ids, expected } = batch;
  const isMinimal = isAnswerMinimal(context, collection, request);
  if (op === 'remove') {
    const run = async (within?: Queryable): Promise<string[]> => {
      await removeRecords(context, collection, { ids, expected: expected[0] }, dependencies, within);
      return ids.map(() => '{}');
    };
    return { ...batch, run: located(batch, run) };
  }
  const planned = await planSave(
    { ...context, shape: 'jsonapi' },
    {
      collection,
      mode: op === 'add' ? 'create' : 'merge',
      isArray: true,
      inputs,
      isMinimal,
      expected,
      ...(op === 'add' && { newIds: inputs.map(({ id }, index) => (id === undefined ? ids[index] : undefined)) }),
    },
    dependencies,
  );
  const run = async (within?: Queryable): Promise<string[]> => {
    const rows = await runSave(context, planned, dependencies, within);
    return rows
      .toSorted((a, b) => a.index - b.index)
      .map(({ record }) => (isMinimal ? '{}' : `{"data":${record ?? 'null'}}`));
  };
  return { ...batch, run: located(batch, run) };
}

/** Adds the operation to errors that name none: the one with the record that the error names. */
const located =
  (batch: Batch, run: PlannedBatch['run']): PlannedBatch['run'] =>
  async (within) => {
    try {
      return await run(within);
    } catch (error) {
      if (!isCodedError(error) || error.fault !== 'caller') throw error;
      const index = Math.max(0, batch.ids.indexOf(String(error.details['id'])));
      const operation = batch.operations[index];
      throw operation ? at(operation, error) : error;
    }
  };

function at(operation: AtomicOperation, error: CodedError, pointer = operation.at): CodedError {
  if (error.details['problems'] !== undefined) return error;
  const details = { ...error.details, source: { pointer } };
  return new CodedError(error.code, error, error.message, details, error.cause);
}
