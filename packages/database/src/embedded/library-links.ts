import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { exists, readIfExists } from './durable-files.js';
import { errnoOf } from './file-faults.js';

/** A symbolic link, which npm cannot pack: `target` is the link and `source` its destination, both below `native`. */
export interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/** Parses the package's list of links into paths below `native`; ignores entries that point elsewhere. */
export function parseLinks(json: string): readonly LibraryLink[] {
  const list: unknown = JSON.parse(json);
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    if (typeof entry !== 'object' || entry === null || !('source' in entry) || !('target' in entry)) return [];
    const [source, target] = [belowNative(String(entry.source)), belowNative(String(entry.target))];
    return source === undefined || target === undefined ? [] : [{ source, target }];
  });
}

function belowNative(file: string): string | undefined {
  const relative = path.relative('native', path.normalize(file));
  return relative.startsWith('..') || path.isAbsolute(relative) ? undefined : relative;
}

/** Returns the links that are missing or dangling because the package's install script did not run. */
export async function missingLinks(root: string): Promise<readonly LibraryLink[]> {
  const links = parseLinks((await readIfExists(path.join(root, 'pg-symlinks.json'))) ?? '[]');
  const present = await Promise.all(links.map((link) => exists(path.join(root, link.target))));
  return links.filter((_, index) => present[index] === false);
}

export async function makeLinks(root: string, links: readonly LibraryLink[]): Promise<void> {
  for (const { source, target } of links) {
    try {
      await symlink(path.relative(path.dirname(target), source), path.join(root, target));
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error; // another process created it concurrently
    }
  }
}
