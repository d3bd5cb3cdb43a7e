import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { PathFacts } from './reachability.js';

/** Returns the facts of every directory from the root down to and including `target`, which must be a real path. */
export async function factsAlongPath(target: string): Promise<readonly PathFacts[]> {
  const parent = path.dirname(target);
  const above = parent === target ? [] : await factsAlongPath(parent);
  return [...above, await factsOf(target)];
}

export async function factsOf(target: string): Promise<PathFacts> {
  const { uid, gid, mode } = await stat(target);
  return { path: target, uid, gid, mode };
}
