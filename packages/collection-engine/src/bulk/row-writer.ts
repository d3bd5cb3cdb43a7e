import { hasCode, isCodedError } from '@drover/contracts';
import type { CollectionModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import { conflictField } from '../operations/create-records.js';
import { requireWrite, writeQuery } from '../operations/prepare-write.js';
import { planSave, runSave, type SaveRequest } from '../operations/save.js';
import type { OperationDependencies, RecordOperation } from '../request/record-operation.js';
import { escapePointer, type RecordInput } from '../write/record-input.js';
import { errorsNote, lineNote, type ImportRow } from './import-rows.js';
import type { RowOutcome, WriteRows } from './import-run.js';
import { outlastOutage } from './outlast-outage.js';
import { WriteAhead } from './write-ahead.js';

/** Returns what writes the rows of an import: creates, or upserts with `on_conflict`. */
export const rowWriter = (...[context, collection, request, dependencies]: Parameters<RecordOperation>): WriteRows => {
  requireWrite(context, collection, 'create', request);
  const key = conflictField(writeQuery(request, { own: ['on_conflict'] }, context).own.get('on_conflict'), collection);
  if (key) requireWrite(context, collection, 'update', request);
  const common = {
    collection,
    mode: key ? 'upsert' : 'create',
    isArray: true,
    isMinimal: true,
    isSilent: !key,
    key,
  } as const;
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
    await writeAll(
      rows.map((row, index) => new RowInput(row, index)),
      saveInputs,
      outcomes,
    );
    return outcomes;
  };
};

/** Whether a batch depends on those before it: rows may refer to rows of the same file, and numbers follow the order of the file. */
const isOrdered = ({ fields, name }: CollectionModel): boolean =>
  [...fields.values()].some(
    ({ type, definition }) => type === 'AUTO_NUMBER' || definition.references?.collection === name,
  );

/** A row as the input of a write. Pointers are made only if there is a problem: an import has many rows and few problems. */
class RowInput implements RecordInput {
  /** Of the row in its batch. */
  readonly index: number;
  readonly id: string | undefined;
  readonly lid = undefined;
  readonly values: RecordInput['values'];

  constructor({ values }: ImportRow, index: number) {
    const { id } = values;
    this.index = index;
    this.id = id === undefined || typeof id === 'string' ? id : JSON.stringify(id);
    this.values = ignoredNames.some((name) => Object.hasOwn(values, name)) ? withoutIgnored(values) : values;
  }

  get at(): string {
    return `/${this.index}`;
  }

  pointer(name: string): string {
    return `${this.at}/${escapePointer(name)}`;
  }
}

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

const ignoredNames = ['id', 'type', lineNote, errorsNote];

const withoutIgnored = (values: ImportRow['values']): ImportRow['values'] =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !ignoredNames.includes(name)));

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
