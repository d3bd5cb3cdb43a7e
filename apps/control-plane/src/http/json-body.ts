import { bodyUnreadable } from '@drover/http-edge';

const maxDepth = 32;
/** Keys of objects and items of arrays on all levels together: validation visits each of them. */
const maxEntries = 10_000;
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

/** Walks level by level without recursion, since an attacker chooses the depth. */
function checkShape(root: unknown): void {
  let entries = 0;
  let level = [root].filter(isContainer);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > maxDepth) throw bodyUnreadable({ problem: `the body is nested deeper than ${maxDepth} levels` });
    const next: object[] = [];
    for (const container of level) {
      const children = Array.isArray(container) ? container : valuesOf(container);
      entries += children.length;
      if (entries > maxEntries)
        throw bodyUnreadable({ problem: `the body has more than ${maxEntries} keys and items` });
      next.push(...children.filter(isContainer));
    }
    level = next;
  }
}

function valuesOf(container: object): unknown[] {
  const forbidden = Object.keys(container).find((key) => forbiddenKeys.has(key));
  if (forbidden !== undefined) throw bodyUnreadable({ problem: `the key "${forbidden}" is not allowed` });
  return Object.values(container);
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
