import type { ErrorDefinition } from './define-error.js';

// oxlint-disable-next-line typescript/no-explicit-any -- details are contravariant, so no narrower type holds every definition
type AnyErrorDefinition = ErrorDefinition<any>;

/** A package's errors, by the name its code imports them under. */
export type ErrorGroup = Readonly<Record<string, AnyErrorDefinition>>;

/** All definitions of several packages, ordered by code. A code claimed twice is refused. */
export function errorCatalogue(groups: readonly ErrorGroup[]): readonly AnyErrorDefinition[] {
  const byCode = new Map<string, AnyErrorDefinition>();
  for (const definition of groups.flatMap((group) => Object.values(group))) {
    if (byCode.has(definition.code)) throw new Error(`the error code ${definition.code} is defined twice`);
    byCode.set(definition.code, definition);
  }
  return [...byCode.values()].toSorted((a, b) => a.code.localeCompare(b.code));
}

/** The catalogue as a Markdown table, one row an error. */
export function catalogueToMarkdown(catalogue: readonly AnyErrorDefinition[]): string {
  const rows = catalogue.map(
    (e) => `| \`${e.code}\` | ${e.status} | ${e.fault} | ${e.retryable ? 'yes' : 'no'} | ${e.help} |`,
  );
  return ['| code | status | whose fault | retry helps | what to do |', '|---|---|---|---|---|', ...rows].join('\n');
}
