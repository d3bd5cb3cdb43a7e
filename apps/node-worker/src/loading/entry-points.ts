import { readdirSync } from 'node:fs';
import path from 'node:path';
import { findFiles, hasWildcards, isFile } from './glob.js';

/** Suffixes that `main` may omit, as in any package. */
const endings = ['', '.js', '.cjs', '.mjs', '/index.js', '/index.cjs', '/index.mjs'];

/** Returns the files that `main` of package.json names, relative to the app. */
export function findEntryPoints(main: string, directory: string): string[] {
  const named = endings
    .map((ending) => `${main.replace(/\/+$/, '')}${ending}`)
    .find((file) => isFile(path.join(directory, file)));
  if (named !== undefined) return [path.normalize(named)];
  return hasWildcards(main) ? findFiles(main, directory) : [];
}

/** True when the app has v3 functions: folders with a function.json. */
export function hasFunctionJson(directory: string): boolean {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch {
    return false;
  }
  return names.some((name) => isFile(path.join(directory, name, 'function.json')));
}
