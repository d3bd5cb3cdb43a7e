import { bodyUnreadable } from '../errors.js';

const maxDepth = 32;
const maxKeys = 10_000;
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

/** Parses a JSON body of limited depth and size, without keys that reach into prototypes. */
export function parseJsonBody(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bodyUnreadable(
      { problem: `the body is not valid JSON: ${error instanceof Error ? error.message : ''}` },
      error,
    );
  }
  checkShape(value);
  return value;
}

/** Walks without recursion: depth is what an attacker chooses. */
function checkShape(root: unknown): void {
  let keys = 0;
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) throw bodyUnreadable({ problem: `the body is nested deeper than ${maxDepth} levels` });
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const [key, child] of Object.entries(value)) {
        if (!Array.isArray(value) && forbiddenKeys.has(key))
          throw bodyUnreadable({ problem: `the key "${key}" is not allowed` });
        if (++keys > maxKeys) throw bodyUnreadable({ problem: `the body has more than ${maxKeys} keys` });
        next.push(child);
      }
    }
    level = next;
  }
}
