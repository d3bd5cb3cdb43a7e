import type { ErrorDefinition } from './define-error.js';

// oxlint-disable-next-line typescript/no-explicit-any -- details are contravariant, so no narrower type holds every definition
type AnyErrorDefinition = ErrorDefinition<any>;

/** The errors of a package by the name of their export. */
export type ErrorGroup = Readonly<Record<string, AnyErrorDefinition>> | readonly AnyErrorDefinition[];

/** Returns the definitions of several packages, ordered by code. Throws if a code is defined twice. */
export function errorCatalogue(groups: readonly ErrorGroup[]): readonly AnyErrorDefinition[] {
  const byCode = new Map<string, AnyErrorDefinition>();
  for (const definition of groups.flatMap((group): AnyErrorDefinition[] => Object.values(group))) {
    if (byCode.has(definition.code))
      throw new Error(`The error code ${definition.code} is defined twice. Rename one of them.`);
    byCode.set(definition.code, definition);
  }
  return [...byCode.values()].toSorted((a, b) => a.code.localeCompare(b.code));
}

/** Returns the catalogue as a Markdown table. */
export function catalogueToMarkdown(catalogue: readonly AnyErrorDefinition[]): string {
  const rows = catalogue.map(
    (e) => `| \`${e.code}\` | ${e.status} | ${e.fault} | ${e.retryable ? 'yes' : 'no'} | ${e.help} |`,
  );
  return ['| code | status | whose fault | retry helps | what to do |', '|---|---|---|---|---|', ...rows].join('\n');
}
