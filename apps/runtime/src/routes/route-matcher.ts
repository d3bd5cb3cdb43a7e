import { NullRecord } from '../bindings/null-record.js';
import type { RouteParameter, RouteSegment, RouteTemplate } from './route-template.js';

export type RouteParameters = Readonly<Record<string, string>>;

/** The decoded segments of a path. */
export interface PathSegments {
  readonly segments: readonly string[];
  /** In lower case, for comparison with literals. */
  readonly folded: readonly string[];
}

/** Returns the number of segments that a matching path can have. */
export function segmentRange({ segments }: RouteTemplate): { readonly least: number; readonly most: number } {
  let least = segments.length;
  while (least > 0 && canBeLeftOut(segments[least - 1] ?? [])) least -= 1;
  const isOpen = only(segments.at(-1) ?? [])?.isCatchAll === true;
  return { least, most: isOpen ? Number.POSITIVE_INFINITY : segments.length };
}

/** Matches a path. Returns the values of the parameters, or undefined. */
export function matchRoute({ segments: template }: RouteTemplate, path: PathSegments): RouteParameters | undefined {
  const found = new NullRecord<string>();
  for (const [index, segment] of template.entries()) {
    const parameter = only(segment);
    if (parameter?.isCatchAll) {
      const rest = path.segments.slice(index).join('/');
      const value = rest === '' ? parameter.fallback : rest;
      if (value !== undefined && !accepts(parameter, value)) return undefined;
      if (value !== undefined) found[parameter.name] = value;
      return found;
    }
    const value = path.segments[index];
    if (value === undefined) {
      // The number of segments was checked before, so only optional parameters are missing.
      if (parameter?.fallback !== undefined) found[parameter.name] = parameter.fallback;
    } else if (parameter) {
      if (value === '' || !accepts(parameter, value)) return undefined;
      found[parameter.name] = value;
    } else if (!matchSegment(segment, value, path.folded[index] ?? '', found)) return undefined;
  }
  return found;
}

function canBeLeftOut(segment: RouteSegment): boolean {
  const parameter = only(segment);
  return parameter !== undefined && (parameter.isOptional || parameter.isCatchAll || parameter.fallback !== undefined);
}

/** Returns the parameter if it is the whole segment. */
function only(segment: RouteSegment): RouteParameter | undefined {
  const [first] = segment;
  return segment.length === 1 && first?.kind === 'parameter' ? first : undefined;
}

function accepts({ constraints }: RouteParameter, value: string): boolean {
  return constraints.every((constraint) => constraint(value));
}

/** Matches a segment with several parts. An optional ending, as in `{name}.{extension?}`, is tried first, then omitted. */
function matchSegment(segment: RouteSegment, value: string, folded: string, found: Record<string, string>): boolean {
  if (matchParts(segment, value, folded, found)) return true;
  const last = segment.at(-1);
  if (last?.kind !== 'parameter' || !last.isOptional || value.endsWith('.')) return false;
  delete found[last.name];
  return matchParts(segment.slice(0, -2), value, folded, found);
}

/**
 * Matches literals and parameters from right to left: each literal at its last position that leaves a value for the parameter
 * after it. So the first parameter gets the longest value, as in ASP.NET, without backtracking.
 */
function matchParts(parts: RouteSegment, value: string, folded: string, found: Record<string, string>): boolean {
  const [first] = parts;
  const last = parts.at(-1);
  const begin = first?.kind === 'literal' ? first.text.length : 0;
  let end = value.length;
  if (first?.kind === 'literal') {
    if (!folded.startsWith(first.text)) return false;
    if (parts.length === 1) return folded.length === begin;
  }
  if (last?.kind === 'literal') {
    if (!folded.endsWith(last.text)) return false;
    end -= last.text.length;
  }
  for (let index = parts.length - (last?.kind === 'literal' ? 2 : 1); index >= 0; index -= 2) {
    const parameter = parts[index];
    if (parameter?.kind !== 'parameter') return end === begin;
    const before = parts[index - 1];
    const isFirst = index <= 1;
    const text = isFirst || before?.kind !== 'literal' ? '' : before.text;
    const at = isFirst ? begin : folded.lastIndexOf(text, end - 1 - text.length);
    if (at < begin || at + text.length >= end) return false;
    const taken = value.slice(at + text.length, end);
    if (!accepts(parameter, taken)) return false;
    found[parameter.name] = taken;
    if (isFirst) return true;
    end = at;
  }
  return false;
}
