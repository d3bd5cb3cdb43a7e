import type { ValidationRule } from '@drover/contracts';
import { isRefusedByServer, isUniqueViolation } from '@drover/database';
import type { CollectionModel, FieldModel } from '../model/collection-model.js';
import type { RecordProblem } from '../model/record-problem.js';
import type { ParentRecord } from '../request/record-operation.js';
import { recordNotFound } from '../request/request-errors.js';
import { fieldsOfUniqueIndex, isGateViolation } from '../storage/collection-indexes.js';
import type { RecordDocument } from './input-rows.js';
import type { RecordInput } from './record-input.js';
import type { SavedRow } from './save-statement.js';
import { recordInvalid, ruleFailed, staleWrite, tooManyAffected, uniqueViolation } from './write-errors.js';

/** The records of a write: as the client sent them and as they are stored, by index. */
interface WrittenRecords {
  readonly collection: CollectionModel;
  readonly inputs: readonly RecordInput[];
  readonly documents: readonly RecordDocument[];
  /** The record of the path that all records belong to. */
  readonly parent?: ParentRecord | undefined;
}

/** Throws the error for the problems that the statement has found. Returns if there are none. */
export function throwProblems(rows: readonly SavedRow[], written: WrittenRecords): void {
  const found = rows.filter(({ problem }) => problem !== null).toSorted((a, b) => a.index - b.index);
  if (found.length === 0) return;
  const { collection, documents, parent } = written;
  for (const { problem, index, version, subject } of found) {
    const { id = '', expected = 0 } = documents[index] ?? {};
    if (problem === 'missing') throw recordNotFound({ collection: collection.name, id });
    if (problem === 'affected')
      throw tooManyAffected({ affected: version ?? 0, limit: (version ?? 1) - 1, name: 'max_affected' });
    if (problem === 'stale') throw staleWrite({ id, expected, version: version ?? 0 });
    if (problem === 'reference' && parent && subject === parent.field.name)
      throw recordNotFound({ collection: parent.collection.name, id: parent.id });
  }
  // A write by filter has one record in the request, and finds the same problem with each that it selects.
  const distinct = new Map(found.map((row) => [`${row.index} ${row.problem} ${row.subject}`, row]));
  const problems = [...distinct.values()].map((row) => toProblem(row, written));
  throw found.every(({ problem }) => problem === 'rule') ? ruleFailed({ problems }) : recordInvalid({ problems });
}

/** The problem of a record that a validation rule refuses. */
export function ruleProblem(
  { errorMessage, errorField }: ValidationRule,
  input: RecordInput | undefined,
): RecordProblem {
  const pointer = errorField === undefined ? input?.at : input?.pointer(errorField);
  return { code: 'VALIDATION_RULE_FAILED', detail: errorMessage, source: { pointer: pointer ?? '' } };
}

/** The problem of a record with values of two picklists that do not fit each other. */
export function dependencyProblem({ name, definition }: FieldModel, input: RecordInput | undefined): RecordProblem {
  const controlling = definition.dependsOn?.field ?? '';
  const detail = `Field "${name}" has a value that "${controlling}" does not allow. See "dependsOn" in the definition, and change one of them.`;
  return { code: 'picklist', detail, source: { pointer: input?.pointer(name) ?? '' } };
}

function toProblem(
  { problem, subject, index }: SavedRow,
  { collection, inputs, documents }: WrittenRecords,
): RecordProblem {
  const name = subject ?? '';
  const rule = problem === 'rule' ? collection.rules.find((each) => each.name === name) : undefined;
  if (rule) return ruleProblem(rule, inputs[index]);
  const dependent = problem === 'picklist' ? collection.fields.get(name) : undefined;
  if (dependent) return dependencyProblem(dependent, inputs[index]);
  const source = { pointer: inputs[index]?.pointer(name) ?? '' };
  if (problem === 'nullable') return { code: 'nullable', detail: `Field "${name}" must have a value.`, source };
  if (problem === 'readOnly') {
    const detail = `"${name}" is set by the platform, and the record has another value. Leave it out.`;
    return { code: 'readOnly', detail, source };
  }
  if (problem === 'immutable') {
    const detail = `Field "${name}" cannot be changed after the record was created. Leave it out.`;
    return { code: 'immutable', detail, source };
  }
  const field = collection.fields.get(name);
  const value = field && documents[index]?.values[field.column];
  const target = field?.definition.references?.collection ?? '';
  const detail = `Field "${name}" refers to ${JSON.stringify(value)}, but "${target}" has no such record. Create it first, or correct the id.`;
  return { code: 'reference', detail, source };
}

/** Returns the error that names the fields of a violated unique index or constraint; other errors come back unchanged. */
export function namedViolation(error: unknown, written: WrittenRecords): unknown {
  if (isGateViolation(error, written.collection.table)) return gateViolation(error, written);
  if (isRefusedByServer(error) && /^(?:22|54)/.test(String((error as { code?: unknown }).code))) {
    const pointer = written.inputs.length === 1 ? (written.inputs[0]?.at ?? '') : '';
    const detail = `PostgreSQL refuses a value: ${(error as Error).message}. Correct the value.`;
    return recordInvalid({ problems: [{ code: 'type', detail, source: { pointer } }] }, error);
  }
  if (!isUniqueViolation(error)) return error;
  const { constraint = '', detail = '' } = error as { readonly constraint?: string; readonly detail?: string };
  const { collection, inputs, documents } = written;
  const isId = constraint === `${collection.table}_pkey`;
  const fields = isId ? ['id'] : (fieldsOfUniqueIndex(collection, constraint) ?? []);
  const index = isId
    ? documents.findIndex(({ id }) => detail.includes(`(${id})`))
    : violatingRecord(written, fields, detail);
  const input = inputs[Math.max(0, index)];
  const at = isId
    ? `${input?.at ?? ''}/id`
    : fields[0] === undefined
      ? (input?.at ?? '')
      : (input?.pointer(fields[0]) ?? '');
  const names = fields.map((name) => `"${name}"`).join(', ');
  const value = /=\((.*)\) already exists/s.exec(detail)?.[1];
  const sentence = `Another record of "${collection.name}" has the same ${names || 'unique value'}${value === undefined ? '' : `: ${value}`}. Change it, or upsert with on_conflict.`;
  return uniqueViolation(
    { problems: [{ code: 'UNIQUE_VIOLATION', detail: sentence, source: { pointer: at } }] },
    error,
  );
}

/** PostgreSQL names the values of the violated index; the last record with them is the one that was refused. */
function violatingRecord({ collection, documents }: WrittenRecords, fields: readonly string[], detail: string): number {
  const columns = fields.map((name) => collection.fields.get(name)?.column ?? name);
  return documents.findLastIndex(({ values }) =>
    detail.includes(`=(${columns.map((column) => String(values[column])).join(', ')})`),
  );
}

/** The definition is being changed, and records must already be as the new one allows. This worker may not have it yet. */
function gateViolation(error: unknown, { collection, inputs }: WrittenRecords): unknown {
  const detail = `The definition of "${collection.name}" is being changed, and the new one does not allow this record. Read the definition again and correct the values.`;
  return recordInvalid(
    { problems: [{ code: 'VALIDATION_FAILED', detail, source: { pointer: inputs[0]?.at ?? '' } }] },
    error,
  );
}
