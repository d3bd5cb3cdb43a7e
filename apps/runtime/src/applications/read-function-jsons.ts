import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { FunctionProblem } from './function-definition.js';
import { readFunctionJson } from './function-json.js';
import type { DeclaredFunction } from './function-metadata.js';
import { readSmallFile } from './read-small-file.js';

/** Finds the functions of an app with function.json files: every folder with such a file is one. */
export async function readFunctionJsons(
  appDirectory: string,
): Promise<{ readonly functions: readonly DeclaredFunction[]; readonly problems: readonly FunctionProblem[] }> {
  const directory = path.resolve(appDirectory);
  const functions: DeclaredFunction[] = [];
  const problems: FunctionProblem[] = [];
  const entries = await readdir(directory, { withFileTypes: true });
  for (const name of entries
    .filter(isCandidate)
    .map((entry) => entry.name)
    .toSorted()) {
    const folder = path.join(directory, name);
    const file = path.join(name, 'function.json');
    const text = await readSmallFile(path.join(folder, 'function.json'));
    if ('missing' in text) continue;
    if ('problem' in text) {
      problems.push({ functionName: name, file, problem: text.problem });
      continue;
    }
    const beside = await readdir(folder, { withFileTypes: true });
    const files = beside.filter((entry) => entry.isFile() && entry.name !== 'function.json').map((entry) => entry.name);
    const read = readFunctionJson(
      { name, directory: folder, text: text.text, files: files.toSorted() },
      { directory, exists: existsSync },
    );
    if ('problem' in read) problems.push({ functionName: name, file, problem: read.problem });
    else if (read.value) functions.push(read.value);
  }
  return { functions, problems };
}

function isCandidate(entry: { readonly name: string; isDirectory(): boolean; isSymbolicLink(): boolean }): boolean {
  return (
    (entry.isDirectory() || entry.isSymbolicLink()) && entry.name !== 'node_modules' && !entry.name.startsWith('.')
  );
}
