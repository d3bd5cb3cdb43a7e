import { nearestName } from '@drover/service-kit';
import type { RecordProblem } from '../model/record-problem.js';
import { queryInvalid } from '../request/request-errors.js';
import type { BulkFormat } from './import-rows.js';

export interface ImportParameters {
  readonly delimiter: string;
  /** The answer tells the progress, or is the file of rejected rows. */
  readonly report: 'progress' | 'rejected';
  /** Parameters of the write, as a query string. */
  readonly write: string;
}

export interface ExportParameters {
  readonly format: BulkFormat;
  readonly delimiter: string;
  /** Parameters of the list, which checks them. */
  readonly list: URLSearchParams;
}

/** Reads the parameters of an import; `on_conflict` goes to the write. */
export function importParameters(query: string): ImportParameters {
  const given = new URLSearchParams(query);
  const problems = [...given.keys()]
    .filter((name) => !importNames.includes(name))
    .map((name) => unknownParameter(name, importNames));
  const report = given.get('report') ?? 'progress';
  if (report !== 'progress' && report !== 'rejected')
    problems.push(problem('report', `report must be "progress" or "rejected", not "${report}".`));
  const delimiter = delimiterOf(given, problems);
  if (problems.length > 0) throw queryInvalid({ problems });
  const onConflict = given.get('on_conflict');
  return {
    delimiter,
    report: report === 'rejected' ? 'rejected' : 'progress',
    write: onConflict === null ? '' : new URLSearchParams({ on_conflict: onConflict }).toString(),
  };
}

/** Reads the parameters of an export: those of a list, except those about pages and shapes, which an export has none of. */
export function exportParameters(query: string, accept: string | undefined): ExportParameters {
  const list = new URLSearchParams(query);
  const problems = [...list.keys()]
    .filter((name) => name === 'include' || name === 'shape' || name === 'count' || name.startsWith('page'))
    .map((name) =>
      problem(name, `An export has no parameter "${name}": it has all records. Use filter, sort, fields and deleted.`),
    );
  const format = list.get('format') ?? (accept?.includes('csv') ? 'csv' : 'jsonl');
  if (format !== 'csv' && format !== 'jsonl')
    problems.push(problem('format', `format must be "csv" or "jsonl", not "${format}".`));
  const delimiter = delimiterOf(list, problems);
  if (problems.length > 0) throw queryInvalid({ problems });
  list.delete('format');
  list.delete('delimiter');
  return { format: format === 'csv' ? 'csv' : 'jsonl', delimiter, list };
}

const importNames = ['on_conflict', 'delimiter', 'report'];

function delimiterOf(given: URLSearchParams, problems: RecordProblem[]): string {
  const delimiter = given.get('delimiter') ?? ',';
  if (!/^[^"\r\n]$/u.test(delimiter))
    problems.push(problem('delimiter', `delimiter must be one character, for instance ";", not "${delimiter}".`));
  return delimiter;
}

function unknownParameter(name: string, known: readonly string[]): RecordProblem {
  const similar = nearestName(name, known);
  const suggestion = similar === undefined ? `Use ${known.join(', ')}.` : `Did you mean "${similar}"?`;
  return problem(name, `An import has no parameter "${name}". ${suggestion}`);
}

const problem = (parameter: string, detail: string): RecordProblem => ({
  code: 'INVALID_PARAMETER',
  detail,
  source: { parameter },
});
