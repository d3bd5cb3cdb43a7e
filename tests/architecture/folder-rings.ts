import path from 'node:path';
import type { SourceFile, Workspace } from './workspace.js';

/** One import that leads from one place of a package to another. */
interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly file: string;
  readonly specifier: string;
}

/**
 * Returns one shortest ring for every group of places of a package that import each other, type imports included. A place is a
 * folder below `src`, by its whole path (`pool` and `pool/drivers` are two), or a file directly in `src`. Tests and what only
 * tests use may look at anything, so they do not count.
 */
export function folderRings({ folder, files }: Pick<Workspace, 'folder' | 'files'>): string[] {
  const arrows = files.filter(({ forTests }) => !forTests).flatMap((file) => arrowsOf(`${folder}/src`, file));
  const rings: string[] = [];
  const seen = new Set<string>();
  for (const place of new Set(arrows.map(({ from }) => from))) {
    if (seen.has(place)) continue;
    const ring = shortestRing(arrows, place);
    if (!ring) continue;
    for (const each of members(arrows, place)) seen.add(each);
    const imports = ring.map(({ file, specifier }) => `\n    ${file} imports ${specifier}`);
    rings.push(`${folder}: ${[place, ...ring.map(({ to }) => to)].join(' → ')}${imports.join('')}`);
  }
  return rings;
}

function arrowsOf(source: string, { path: file, imports }: SourceFile): Arrow[] {
  const from = placeOf(source, file);
  return imports
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => {
      const target = path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts');
      return { from, to: placeOf(source, target), file, specifier };
    })
    .filter(({ to }) => to !== from);
}

function placeOf(source: string, file: string): string {
  const place = path.posix.relative(source, path.posix.dirname(file));
  return place === '' ? path.posix.basename(file) : place;
}

/** All places of the ring, or of the rings that hang together: whatever can be reached from `start` and leads back to it. */
function members(arrows: readonly Arrow[], start: string): string[] {
  const reach = (from: string): Set<string> => {
    const found = new Set<string>([from]);
    for (const place of found) for (const arrow of arrows) if (arrow.from === place) found.add(arrow.to);
    return found;
  };
  return [...reach(start)].filter((place) => reach(place).has(start));
}

function shortestRing(arrows: readonly Arrow[], start: string): Arrow[] | undefined {
  const ways: Arrow[][] = arrows.filter(({ from }) => from === start).map((arrow) => [arrow]);
  const visited = new Set<string>();
  for (const way of ways) {
    const here = way.at(-1)?.to ?? start;
    if (here === start) return way;
    if (visited.has(here)) continue;
    visited.add(here);
    ways.push(...arrows.filter(({ from }) => from === here).map((arrow) => [...way, arrow]));
  }
  return undefined;
}
