import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Creates a directory and its missing parents. Returns the topmost one that it created, or undefined if all existed. Rejects
 * where Node's recursive `mkdir` never settles: a file system such as /proc answers ENOENT although the parent exists.
 */
export async function makeDirectories(
  directory: string,
  options: { readonly mode?: number } = {},
): Promise<string | undefined> {
  const absolute = path.resolve(directory);
  try {
    return (await makeOne(absolute, options)) ? absolute : undefined;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || path.dirname(absolute) === absolute) throw error;
  }
  const topmost = await makeDirectories(path.dirname(absolute), options);
  const isMade = await makeOne(absolute, options);
  return topmost ?? (isMade ? absolute : undefined);
}

/** Returns false if the directory exists. */
async function makeOne(directory: string, options: { readonly mode?: number }): Promise<boolean> {
  try {
    await mkdir(directory, options);
    return true;
  } catch (error) {
    if (await isDirectory(directory)) return false;
    throw error;
  }
}

function isDirectory(directory: string): Promise<boolean> {
  return stat(directory).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
