import { hasCode, isCodedError } from '@drover/contracts';
import type { CollectionModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import { requireWrite, writeQuery } from '../operations/prepare-write.js';
import { planSave, runSave, type SaveRequest } from '../operations/save.js';
import type { OperationDependencies, RecordRequest } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import { conflictKey } from '../write/conflict-key.js';
import type { RecordInput } from '../write/record-input.js';
import { ignoredNames } from './csv-columns.js';
import type { RowOutcome, WriteRows } from './import-run.js';
import { outlastOutage } from './outlast-outage.js';
import { RowInput } from './row-input.js';
import { RowsByKeys, type ImportTarget } from './rows-by-keys.js';
import { WriteAhead } from './write-ahead.js';

/**
 * Returns what writes the rows of an import: creates, or upserts with `on_conflict`. A row with an id keeps it, so that an export can be
 * imported into an empty collection, and is refused by one that has the record.
 */
export function rowWriter(
  context: RecordContext,
  target: ImportTarget,
  request: RecordRequest,
  dependencies: OperationDependencies,
): WriteRows {
  const { collection } = target;
  requireWrite(context, collection, 'create', request);
  const { own } = writeQuery(request, { own: ['on_conflict'] }, context);
  const key = conflictKey(own.get('on_conflict'), collection, true);
  if (key) requireWrite(context, collection, 'update', request);
  const common = {
    collection,
    mode: key ? 'upsert' : 'create',
    isArray: true,
    isMinimal: true,
    isSilent: !key,
    keepsIds: true,
    key,
  } as const;
  const ignored = ignoredNames(collection);
  const byKeys = new RowsByKeys(context, target, dependencies);
  const { database, clock } = dependencies;
  const ahead = key || isOrdered(collection) ? undefined : new WriteAhead(database, clock);
  return async (rows, turn) => {
    const inTurn: OperationDependencies['database'] = {
      query: async (statement, values) => turn.then(() => database.query(statement, values)),
      transaction: (work, isolation) => database.transaction(work, isolation),
    };
    const io = { ...dependencies, signal: request.signal };
    let isFirst = true;
    const saveInputs: Save = async (inputs) => {
      // A statement whose connection is lost may have been committed. The key tells the next attempt, which has the same ids, too.
      const idempotency = { key: `import ${dependencies.randomness.uuid()}`, fingerprint: '' };
      const planned = await outlastOutage(
        () => planSave(context, { ...common, inputs, idempotency } satisfies SaveRequest, dependencies),
        io,
      );
      const { plan } = planned;
      const first = { ...planned, plan: { ...plan, idempotency: { ...idempotency, isNew: true } } };
      const mayBeAhead = isFirst;
      isFirst = false;
      return outlastOutage(async (attempt) => {
        const written =
          mayBeAhead && attempt === 1
            ? await ahead?.run(turn, (target) => runSave(context, first, dependencies, target))
            : undefined;
        return written ?? runSave(context, attempt === 1 ? first : planned, { ...dependencies, database: inTurn });
      }, io);
    };
    const outcomes: RowOutcome[] = [];
    const inputs = rows.map((row, index) => RowInput.of(row, index, ignored));
    const readable = await outlastOutage(() => byKeys.resolve(inputs, turn, outcomes), io);
    await writeAll(readable, saveInputs, outcomes);
    return outcomes;
  };
}

/** Whether a batch depends on those before it: rows may refer to rows of the same file, and numbers follow the order of the file. */
const isOrdered = ({ fields, name }: CollectionModel): boolean =>
  [...fields.values()].some(
    ({ type, definition }) => type === 'AUTO_NUMBER' || definition.references?.collection === name,
  );

type Save = (
  inputs: readonly RecordInput[],
) => Promise<readonly { readonly index: number; readonly is_new: boolean | null }[]>;

/**
 * Writes rows in one statement. Rows that are refused leave it, and the others are written without them. A violation of a unique
 * field names one row at a time: the rows are then split in halves, in order, so that the first of two equal ones is written.
 */
async function writeAll(rows: readonly RowInput[], saveInputs: Save, outcomes: RowOutcome[]): Promise<void> {
  if (rows.length === 0) return;
  try {
    const saved = await saveInputs(rows);
    for (const { index } of rows) outcomes[index] = 'created';
    for (const { index, is_new } of saved) {
      const written = rows[index];
      if (written && is_new === false) outcomes[written.index] = 'updated';
    }
  } catch (error) {
    const problems = problemsByRow(error);
    const isSplit = hasCode(error, 'UNIQUE_VIOLATION') || isSecondOfBatch(error);
    if (rows.length > 1 && isSplit) {
      const middle = Math.ceil(rows.length / 2);
      await writeAll(rows.slice(0, middle), saveInputs, outcomes);
      return writeAll(rows.slice(middle), saveInputs, outcomes);
    }
    const rest = rows.filter(({ index }) => !problems.has(index));
    if (rest.length === rows.length) throw error;
    for (const [index, found] of problems) outcomes[index] = found;
    return writeAll(rest, saveInputs, outcomes);
  }
}

/** One upsert cannot change a record twice (21000): two rows with the same key are written one after the other. */
const isSecondOfBatch = (error: unknown): boolean => hasCode(error, '21000');

/** Problems by the index of their row in the batch; their pointers then begin at the row. */
function problemsByRow(error: unknown): Map<number, RecordProblem[]> {
  const byRow = new Map<number, RecordProblem[]>();
  const problems = isCodedError(error) && Array.isArray(error.details['problems']) ? error.details['problems'] : [];
  for (const problem of problems as readonly RecordProblem[]) {
    const [, row, rest = ''] = ('pointer' in problem.source && /^\/(\d+)(.*)$/s.exec(problem.source.pointer)) || [];
    if (row === undefined) continue;
    const found = byRow.get(Number(row)) ?? [];
    found.push({ ...problem, source: { pointer: rest } });
    byRow.set(Number(row), found);
  }
  return byRow;
}
