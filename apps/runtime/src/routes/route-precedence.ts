import { segmentRange } from './route-matcher.js';
import { segmentIdentity, type RouteSegment, type RouteTemplate } from './route-template.js';

/**
 * Compares templates by ASP.NET's precedence, segment by segment from the left: a negative number if `one` is more specific. Of
 * two templates that are equal as far as the shorter one goes, the shorter one comes first.
 */
export function comparePrecedence({ segments: one }: RouteTemplate, { segments: other }: RouteTemplate): number {
  for (const [index, segment] of one.entries()) {
    const opposite = other[index];
    if (!opposite) return 1;
    const difference = digitOf(segment) - digitOf(opposite);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Whether `one` certainly matches every path that `other` matches. False if the constraints of the two cannot be compared. */
export function matchesAllOf(one: RouteTemplate, other: RouteTemplate): boolean {
  const [own, theirs] = [segmentRange(one), segmentRange(other)];
  if (own.least > theirs.least || own.most < theirs.most) return false;
  return one.segments.every((segment, index) => {
    const opposite = other.segments[index];
    // Beyond the end of the other template, only segments that may be absent are left.
    if (!opposite || isFree(segment)) return true;
    return segmentIdentity(segment) === segmentIdentity(opposite);
  });
}

/**
 * Returns a key that two templates share if one of them can hide the other: of templates with different keys, the more specific
 * one comes first and matches less.
 */
export function shapeOf({ segments }: RouteTemplate): string {
  return segments
    .map((segment) => (digitOf(segment) === 1 ? `=${segmentIdentity(segment)}` : `#${digitOf(segment)}`))
    .join('/');
}

function digitOf(segment: RouteSegment): number {
  const [part] = segment;
  if (segment.length > 1) return 2;
  if (part?.kind !== 'parameter') return 1;
  return (part.isCatchAll ? 5 : 3) - (part.constraints.length > 0 ? 1 : 0);
}

/** A parameter that takes any value. */
function isFree(segment: RouteSegment): boolean {
  const [part] = segment;
  return segment.length === 1 && part?.kind === 'parameter' && part.constraints.length === 0;
}
