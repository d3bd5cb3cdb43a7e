import { NullRecord } from '../bindings/null-record.js';
import type { RouteParameter, RouteSegment, RouteTemplate } from './route-template.js';

export type RouteParameters = Readonly<Record<string, string>>;

/** A path in pieces, decoded. */
export interface PathSegments {
  readonly segments: readonly string[];
  /** The same in lower case, to compare with literals. */
  readonly folded: readonly string[];
}

/** How many segments a path may have to match. */
export function segmentRange({ segments }: RouteTemplate): { readonly least: number; readonly most: number } {
  let least = segments.length;
  while (least > 0 && canBeLeftOut(segments[least - 1] ?? [])) least -= 1;
  const isOpen = only(segments.at(-1) ?? [])?.isCatchAll === true;
  return { least, most: isOpen ? Number.POSITIVE_INFINITY : segments.length };
}

/** The values of a template's parameters in a path; undefined when it does not match. */
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
      // Only what can be left out is behind the end of a path: its length was looked at before.
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

/** The parameter that is the whole segment. */
function only(segment: RouteSegment): RouteParameter | undefined {
  const [first] = segment;
  return segment.length === 1 && first?.kind === 'parameter' ? first : undefined;
}

function accepts({ constraints }: RouteParameter, value: string): boolean {
  return constraints.every((constraint) => constraint(value));
}

/** Several parts in one segment. An optional ending, as in `{name}.{extension?}`, is tried first and then left out. */
function matchSegment(segment: RouteSegment, value: string, folded: string, found: Record<string, string>): boolean {
  if (matchParts(segment, value, folded, found)) return true;
  const last = segment.at(-1);
  if (last?.kind !== 'parameter' || !last.isOptional || value.endsWith('.')) return false;
  delete found[last.name];
  return matchParts(segment.slice(0, -2), value, folded, found);
}

/**
 * Literals and parameters in turn, from the right: each literal is found at its last place that leaves something for the
 * parameter behind it. So the first parameter gets the most, as in the original, and nothing is tried twice.
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
