import { nearestName } from '@drover/service-kit';
import { isJsonObject } from './json-text.js';
import type { ExternalSection, OptionField, OptionFields, Options, OptionSection } from './option-fields.js';

/** What is wrong with one option. */
export interface OptionProblem {
  /** An error prevents the deployment. An unknown option is ignored, as in Azure; `problem` is a hint, or empty. */
  readonly severity: 'error' | 'warning' | 'unknown';
  /** Path of the option: `extensions.queues.batchSize`. */
  readonly at: string;
  readonly problem: string;
}

/**
 * Reads `raw` by the fields of a section; names are case-insensitive. An invalid option becomes a problem and keeps its default,
 * so that all problems are reported at once. `whereElse` returns where a name that is unknown here belongs.
 */
export function readOptions<Fields extends OptionFields>(
  section: OptionSection<Fields>,
  raw: unknown,
  problems: OptionProblem[],
  { at = '', whereElse = () => undefined, severity = 'error' }: Partial<ReadContext> = {},
): Options<Fields> {
  const given = isJsonObject(raw) ? raw : {};
  if (raw !== undefined && raw !== null && !isJsonObject(raw)) problems.push(notAnObject(at));
  const names = new Map(Object.keys(section.fields).map((name) => [name.toLowerCase(), name]));
  const values = new Map<string, unknown>();
  for (const [key, value] of Object.entries(given)) {
    const name = names.get(key.toLowerCase());
    if (name !== undefined) values.set(name, value);
    else if (!isComment(key)) addUnknown(problems, key, Object.keys(section.fields), { at, whereElse });
  }
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(section.fields)) {
    const value = values.get(name);
    const context = { at: pathOf(at, name), whereElse, severity: field.isUnused ? ('warning' as const) : severity };
    if (field.kind === 'section') read[name] = readOptions(field, value, problems, context);
    else if (field.kind === 'external') read[name] = readExternal(field, value, problems, context);
    else read['unit' in field ? `${name}Ms` : name] = readValue(field, value, problems, context);
  }
  return read as Options<Fields>; // one value for every field, read by that field
}

interface ReadContext {
  readonly at: string;
  readonly whereElse: (name: string) => string | undefined;
  /** What an invalid value is. */
  readonly severity: 'error' | 'warning';
}

function readValue(
  field: OptionField<unknown>,
  value: unknown,
  problems: OptionProblem[],
  { at, severity }: ReadContext,
): unknown {
  if (value === undefined || value === null) return field.fallback;
  const outcome = field.read(value);
  if (!outcome) problems.push({ severity, at, problem: `must be ${field.expects}, not ${quote(value)}` });
  else if (outcome.note !== undefined) problems.push({ severity: 'warning', at, problem: outcome.note });
  return outcome ? outcome.value : field.fallback;
}

/** Names that are commonly used for comments in JSON. */
function isComment(key: string): boolean {
  return key.startsWith('$') || key.startsWith('//') || key.startsWith('_');
}

function readExternal(
  { names, read }: ExternalSection<unknown>,
  raw: unknown,
  problems: OptionProblem[],
  context: ReadContext,
): unknown {
  const { values, problems: found, warnings, unknownKeys } = read(raw);
  const { at, severity } = context;
  for (const { key, problem } of found)
    problems.push(key === '' ? notAnObject(at) : { severity, at: pathOf(at, key), problem });
  for (const { key, problem } of warnings) problems.push({ severity: 'warning', at: pathOf(at, key), problem });
  for (const key of unknownKeys) if (!isComment(key)) addUnknown(problems, key, names, context);
  return values;
}

/** As in Azure, only the whole file must be an object; a section that is none is ignored. */
function notAnObject(at: string): OptionProblem {
  return at === ''
    ? { severity: 'error', at: 'the file', problem: 'must be an object' }
    : { severity: 'warning', at, problem: 'must be an object and is ignored' };
}

function pathOf(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}

/** The search for a similar name is slow: a file full of unknown names gets hints for the first ones only. */
const mostHints = 100;

function addUnknown(
  problems: OptionProblem[],
  key: string,
  known: readonly string[],
  { at, whereElse }: Pick<ReadContext, 'at' | 'whereElse'>,
): void {
  const elsewhere = whereElse(key);
  const near = elsewhere === undefined && problems.length < mostHints ? nearestName(key, known) : undefined;
  const hint =
    elsewhere !== undefined ? `it belongs at ${elsewhere}` : near === undefined ? '' : `did you mean ${near}?`;
  problems.push({ severity: 'unknown', at: pathOf(at, key), problem: hint });
}

function quote(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
