import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { isThere, readIfThere } from './durable-files.js';
import { errnoOf } from './file-faults.js';

/** A symbolic link that npm could not pack: `target` is the link, `source` what it leads to, both below `native`. */
export interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/** The list that the package carries, as paths below `native`; entries that point elsewhere are not ours to make. */
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

/** The links that are not there (or lead nowhere), since the package's install script did not run. */
export async function missingLinks(root: string): Promise<readonly LibraryLink[]> {
  const links = parseLinks((await readIfThere(path.join(root, 'pg-symlinks.json'))) ?? '[]');
  const present = await Promise.all(links.map((link) => isThere(path.join(root, link.target))));
  return links.filter((_, index) => present[index] === false);
}

export async function makeLinks(root: string, links: readonly LibraryLink[]): Promise<void> {
  for (const { source, target } of links) {
    try {
      await symlink(path.relative(path.dirname(target), source), path.join(root, target));
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error; // somebody else starts at the same time
    }
  }
}
