import type { CharacterSet, PatternNode, PatternProblem } from './pattern-syntax.js';

/**
 * Returns the same pattern in the syntax of PostgreSQL, anchored at both ends. Sets are written by code point, because the classes
 * of PostgreSQL depend on the locale; for the same reason Unicode properties have no equivalent.
 */
export function postgresPattern(node: PatternNode): string | PatternProblem {
  const text = write(node);
  return text === undefined
    ? { problem: '"\\p" is not supported here; write the ranges of characters' }
    : `^(?:${text})$`;
}

function write(node: PatternNode): string | undefined {
  switch (node.kind) {
    case 'set':
      return node.set.properties.length > 0 ? undefined : writeSet(node.set);
    case 'start':
      return '^';
    case 'end':
      return '$';
    case 'sequence':
      return joined(node.parts, '');
    case 'choice': {
      const text = joined(node.parts, '|');
      return text === undefined ? undefined : `(?:${text})`;
    }
    case 'repeat': {
      const part = write(node.part);
      const max = node.max === Infinity ? '' : String(node.max);
      return part === undefined ? undefined : `(?:${part}){${node.min},${max}}`;
    }
  }
}

function joined(parts: readonly PatternNode[], separator: string): string | undefined {
  const texts = parts.map(write);
  return texts.includes(undefined) ? undefined : texts.join(separator);
}

function writeSet({ isNegated, ranges }: CharacterSet): string {
  const members = ranges.map(([first, last]) => (first === last ? code(first) : `${code(first)}-${code(last)}`));
  return `[${isNegated ? '^' : ''}${members.join('')}]`;
}

const code = (point: number): string => `\\U${point.toString(16).padStart(8, '0')}`;
