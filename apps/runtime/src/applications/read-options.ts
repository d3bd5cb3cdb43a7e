import { nearestName } from '@drover/service-kit';
import { isJsonObject } from './json-text.js';
import type { ExternalSection, OptionFields, Options, OptionSection } from './option-fields.js';

/** A problem with one option. */
export interface OptionProblem {
  readonly severity: 'error' | 'warning';
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
  { at = '', whereElse = () => undefined }: ReadContext = {},
): Options<Fields> {
  const given = isJsonObject(raw) ? raw : {};
  if (raw !== undefined && raw !== null && !isJsonObject(raw))
    problems.push({ severity: 'error', at: at || 'the file', problem: 'must be an object' });
  const names = new Map(Object.keys(section.fields).map((name) => [name.toLowerCase(), name]));
  const values = new Map<string, unknown>();
  for (const [key, value] of Object.entries(given)) {
    const name = names.get(key.toLowerCase());
    if (name !== undefined) values.set(name, value);
    else if (isComment(key)) continue;
    else if (section.others === 'ignore')
      problems.push({ severity: 'warning', at: pathOf(at, key), problem: 'is not known here and has no effect' });
    else problems.push(unknownOption(Object.keys(section.fields), key, { at, whereElse }));
  }
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(section.fields)) {
    const value = values.get(name);
    const path = pathOf(at, name);
    if (field.kind === 'section') {
      read[name] = readOptions(field, value, problems, { at: path, whereElse });
      continue;
    }
    if (field.kind === 'external') {
      read[name] = readExternal(field, value, problems, { at: path, whereElse });
      continue;
    }
    const outcome = value === undefined || value === null ? { value: field.fallback } : field.read(value);
    if (!outcome)
      problems.push({ severity: 'error', at: path, problem: `must be ${field.expects}, not ${quote(value)}` });
    read['unit' in field ? `${name}Ms` : name] = outcome ? outcome.value : field.fallback;
  }
  return read as Options<Fields>; // one value for every field, read by that field
}

interface ReadContext {
  readonly at?: string;
  readonly whereElse?: (name: string) => string | undefined;
}

/** Names that are commonly used for comments in JSON. */
function isComment(key: string): boolean {
  return key.startsWith('$') || key.startsWith('//') || key.startsWith('_');
}

function readExternal(
  { names, read }: ExternalSection<unknown>,
  raw: unknown,
  problems: OptionProblem[],
  context: Required<ReadContext>,
): unknown {
  const { values, problems: found, unknownKeys } = read(raw);
  for (const { key, problem } of found)
    problems.push({ severity: 'error', at: key === '' ? context.at : pathOf(context.at, key), problem });
  for (const key of unknownKeys) if (!isComment(key)) problems.push(unknownOption(names, key, context));
  return values;
}

function pathOf(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}

function unknownOption(known: readonly string[], key: string, { at, whereElse }: Required<ReadContext>): OptionProblem {
  const path = pathOf(at, key);
  const elsewhere = whereElse(key);
  if (elsewhere !== undefined)
    return { severity: 'error', at: path, problem: `has no effect here: it belongs at ${elsewhere}` };
  const near = nearestName(key, known);
  return {
    severity: 'error',
    at: path,
    problem: `is not an option${near === undefined ? `; known here: ${known.join(', ')}` : `; did you mean ${near}?`}`,
  };
}

function quote(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
