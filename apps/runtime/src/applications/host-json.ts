import { overrideHostJson } from './host-json-overrides.js';
import { formerNames, hostJsonSection, type HostJson } from './host-json-schema.js';
import { isJsonObject, parseJsonText } from './json-text.js';
import type { OptionSection } from './option-fields.js';
import { readOptions, type OptionProblem } from './read-options.js';
import { parseRetryOptions } from './retry-options.js';

/** A problem in a file of an application. An error prevents its deployment; a warning does not. */
export interface ApplicationProblem {
  readonly severity: 'error' | 'warning';
  readonly file: string;
  readonly problem: string;
}

interface ReadHostJson {
  readonly hostJson: HostJson;
  /** The parsed file with overrides: part of the metadata version. */
  readonly raw: unknown;
  readonly problems: readonly ApplicationProblem[];
}

const file = 'host.json';
/** A file may have thousands of unknown names; the warning stays readable. */
const mostNamed = 20;

/** Reads host.json with the overrides of the environment. `text` is undefined if the file does not exist. */
export function parseHostJson(
  text: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): ReadHostJson {
  const problems: OptionProblem[] = [];
  const parsed = readText(text, problems);
  const { value: raw, variables } = overrideHostJson(parsed, environment);
  checkVersion(raw, parsed === undefined, problems);
  const hostJson = readOptions(hostJsonSection, raw, problems, { whereElse });
  const unknown = problems.filter(({ severity }) => severity === 'unknown');
  return {
    hostJson,
    raw,
    problems: [
      ...problems.flatMap((problem) => (problem.severity === 'unknown' ? [] : [present(problem, raw, variables)])),
      ...(unknown.length > 0 ? [nameUnknown(unknown, variables)] : []),
    ],
  };
}

/** Names all unknown options in one warning. As in Azure, an app with options of newer hosts or other extensions still runs. */
function nameUnknown(unknown: readonly OptionProblem[], variables: ReadonlyMap<string, string>): ApplicationProblem {
  const named = unknown.slice(0, mostNamed).map(({ at, problem }) => {
    const hints = [problem, variableHint(at, variables)].filter(Boolean).join(', ');
    return hints === '' ? at : `${at} (${hints})`;
  });
  const rest = unknown.length > mostNamed ? ` and ${unknown.length - mostNamed} more` : '';
  return { severity: 'warning', file, problem: `has unknown options, which are ignored: ${named.join(', ')}${rest}` };
}

function readText(text: string | undefined, problems: OptionProblem[]): unknown {
  if (text === undefined) {
    problems.push({ severity: 'warning', at: '', problem: 'is missing, so all options have their defaults' });
    return undefined;
  }
  const parsed = parseJsonText(text);
  if ('value' in parsed) return parsed.value;
  problems.push({ severity: 'error', at: '', problem: parsed.problem });
  return undefined;
}

function checkVersion(raw: unknown, isMissing: boolean, problems: OptionProblem[]): void {
  const version = isJsonObject(raw) ? raw['version'] : undefined;
  if (version === '2.0' || (isMissing && version === undefined)) return;
  const problem =
    version === undefined
      ? 'is required: add "version": "2.0"'
      : `must be "2.0", not ${JSON.stringify(version)}: it is the version of the file format`;
  problems.push({ severity: 'error', at: 'version', problem });
}

/** Adds the variable that set the option, if any, and the details of an invalid retry policy. */
function present(
  { severity, at, problem }: OptionProblem,
  raw: unknown,
  variables: ReadonlyMap<string, string>,
): ApplicationProblem {
  const retry = at === 'retry' && isJsonObject(raw) ? parseRetryOptions(raw['retry']) : undefined;
  const said = retry && 'problem' in retry ? retry.problem : `${at} ${problem}`.trim();
  const hint = variableHint(at, variables);
  return {
    severity: severity === 'error' ? 'error' : 'warning',
    file,
    problem: hint === '' ? said : `${said} (${hint})`,
  };
}

function variableHint(at: string, variables: ReadonlyMap<string, string>): string {
  const variable = variables.get(at.toLowerCase());
  return variable === undefined ? '' : `set by ${variable}`;
}

const places = collectPlaces(hostJsonSection, '');

/** Returns the places where an option of that name has an effect. */
function whereElse(name: string): string | undefined {
  const folded = name.toLowerCase();
  const found = places.get(folded);
  return found && found.length <= 3 ? found.join(' or ') : (formerNames[folded] ?? undefined);
}

function collectPlaces(section: OptionSection, at: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [name, field] of Object.entries(section.fields)) {
    const path = at === '' ? name : `${at}.${name}`;
    found.set(name.toLowerCase(), [...(found.get(name.toLowerCase()) ?? []), path]);
    const inside =
      field.kind === 'section'
        ? collectPlaces(field, path)
        : field.kind === 'external'
          ? field.names.map((deeper) => [deeper.toLowerCase(), [`${path}.${deeper}`]] as const)
          : [];
    for (const [deeper, paths] of inside) found.set(deeper, [...(found.get(deeper) ?? []), ...paths]);
  }
  return found;
}
