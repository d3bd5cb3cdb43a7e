import type { SourceFile } from './workspace.js';

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:class|interface|type|const|let|function\*?|enum) ([\w$]+)/gm;

/** Names that several files define and export, each with its files. Re-exports define nothing; overloads are one definition. */
export function namesDefinedTwice(files: readonly SourceFile[]): Map<string, string[]> {
  const definitions = new Map<string, Set<string>>();
  for (const { path, text, forTests } of files) {
    if (forTests) continue;
    for (const [, name = ''] of text.matchAll(declaration))
      definitions.set(name, (definitions.get(name) ?? new Set()).add(path));
  }
  const twice = [...definitions].filter(([, paths]) => paths.size > 1);
  return new Map(twice.map(([name, paths]) => [name, [...paths].toSorted()]));
}
