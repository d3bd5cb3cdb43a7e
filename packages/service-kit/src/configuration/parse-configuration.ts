import { configurationInvalid } from '../errors.js';
import { VariableProblem, type Environment, type Variable } from './variables.js';

// oxlint-disable-next-line typescript/no-explicit-any -- a table of variables of every type
export type Variables = Readonly<Record<string, Variable<any>>>;

export type Configuration<V extends Variables> = {
  readonly [Name in keyof V]: V[Name] extends Variable<infer T> ? T : never;
};

/** A rule over several values. Returns what is wrong and what to do, or undefined. */
export type Rule<V extends Variables> = (configuration: Configuration<V>) => string | undefined;

/** Reads all variables. Returns a frozen, fully defaulted object, or throws one error that lists every problem. */
export function parseConfiguration<V extends Variables>(
  process: string,
  variables: V,
  environment: Environment,
  rules: readonly Rule<V>[] = [],
): Configuration<V> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries(variables)) {
    try {
      values[name] = variable.read(environment);
    } catch (error) {
      if (!(error instanceof VariableProblem)) throw error;
      problems.push(error.message);
    }
  }
  const configuration = Object.freeze(values) as Configuration<V>; // every name of V was read above or is in `problems`
  // Rules see whole configurations, so they run only if every single value is valid.
  if (problems.length === 0) problems.push(...rules.flatMap((rule) => rule(configuration) ?? []));
  if (problems.length > 0) throw configurationInvalid({ process, problems });
  return configuration;
}

/** Returns the variables of one process as a Markdown table. */
export function variablesToMarkdown(variables: Variables): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|');
  const rows = Object.values(variables).map(
    (v) =>
      `| \`${v.name}\` | ${cell(v.expects)} | ${v.defaultText ? `\`${cell(v.defaultText)}\`` : '–'} | ${cell(v.about)} |`,
  );
  return ['| variable | value | default | what it does |', '|---|---|---|---|', ...rows].join('\n');
}
