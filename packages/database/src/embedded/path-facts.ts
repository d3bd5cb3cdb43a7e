import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { PathFacts } from './reachability.js';

/** The facts about every directory from the root down to `target`, a real path, itself included. */
export async function wayTo(target: string): Promise<readonly PathFacts[]> {
  const parent = path.dirname(target);
  const above = parent === target ? [] : await wayTo(parent);
  return [...above, await factsOf(target)];
}

export async function factsOf(target: string): Promise<PathFacts> {
  const { uid, gid, mode } = await stat(target);
  return { path: target, uid, gid, mode };
}
