import { existsSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject, parseJsonText } from './json-text.js';
import { readSmallFile } from './read-small-file.js';

/** An app without functions. */
interface EmptyApp {
  readonly directory: string;
  /** The text of package.json, if there is one. */
  readonly packageJson: string | undefined;
  /** Whether a file of that name, relative to the app, is there. */
  readonly exists: (file: string) => boolean;
}

/** Explains to the author of an app why it has no functions. */
function whyNoFunctions({ directory, packageJson, exists }: EmptyApp): string {
  const none = `no functions were found in ${directory}`;
  if (packageJson === undefined)
    return `${none}: it has neither a package.json with "main" nor a folder with a function.json; check the directory`;
  const parsed = parseJsonText(packageJson);
  if ('problem' in parsed) return `${none}: its package.json ${parsed.problem}`;
  const main = isJsonObject(parsed.value) ? parsed.value['main'] : undefined;
  if (typeof main !== 'string' || main === '')
    return `${none}: its package.json has no "main", so no code was loaded, and no folder has a function.json`;
  if (!/[*?[\]{}]/.test(main) && !exists(main))
    return `${none}: "main" of its package.json names ${main}, which does not exist; build the app first`;
  return `${none}: "main" of its package.json is ${main}, and nothing it loads calls app.http, app.storageQueue or the like; if it is a pattern, it may match no file`;
}

/** Explains why the app in a directory has no functions. */
export async function explainNoFunctions(directory: string): Promise<string> {
  const read = await readSmallFile(path.join(directory, 'package.json'));
  return whyNoFunctions({
    directory,
    packageJson: 'text' in read ? read.text : undefined,
    exists: (file) =>
      ['', '.js', '.cjs', '.mjs', '/index.js'].some((ending) => existsSync(path.join(directory, `${file}${ending}`))),
  });
}
