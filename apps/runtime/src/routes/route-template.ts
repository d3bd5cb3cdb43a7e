import { compileConstraint, type Constraint } from './route-constraints.js';

export interface RouteParameter {
  readonly kind: 'parameter';
  readonly name: string;
  readonly isOptional: boolean;
  readonly isCatchAll: boolean;
  readonly fallback: string | undefined;
  readonly constraints: readonly Constraint[];
  /** Source text, for comparisons of templates. */
  readonly constraintText: string;
}

type RoutePart = { readonly kind: 'literal'; readonly text: string } | RouteParameter;

/** The parts of one path segment; literals are in lower case. */
export type RouteSegment = readonly RoutePart[];

export interface RouteTemplate {
  /** Source text. */
  readonly text: string;
  readonly segments: readonly RouteSegment[];
}

/** Parses an ASP.NET route template such as `products/{category:alpha}/{id:int?}`. */
export function parseRouteTemplate(text: string): { readonly template: RouteTemplate } | { readonly problem: string } {
  if (text.length > maxLength) return { problem: `is longer than ${maxLength} characters` };
  const trimmed = text.replace(/^\/|\/$/g, '');
  const segments: RouteSegment[] = [];
  const names = new Set<string>();
  for (const raw of splitSegments(trimmed)) {
    const segment = parseSegment(raw);
    if ('problem' in segment) return segment;
    for (const part of segment.parts) {
      if (part.kind === 'literal') continue;
      if (names.has(part.name.toLowerCase())) return { problem: `has the parameter "${part.name}" twice` };
      names.add(part.name.toLowerCase());
    }
    segments.push(segment.parts);
  }
  const catchAll = segments.findIndex((segment) =>
    segment.some((part) => part.kind === 'parameter' && part.isCatchAll),
  );
  if (catchAll !== -1 && catchAll !== segments.length - 1)
    return { problem: 'has a catch-all parameter that is not the last' };
  return { template: { text, segments } };
}

const maxLength = 2_048;

/** Returns a key that is equal for templates that match the same paths: without parameter names, with constraints. */
export function routeIdentity({ segments }: RouteTemplate): string {
  return segments.map(segmentIdentity).join('/');
}

/** Returns the segments before the first that has a parameter. */
export function leadingLiterals({ segments }: RouteTemplate): string[] {
  const literals: string[] = [];
  for (const [part, ...more] of segments) {
    if (part?.kind !== 'literal' || more.length > 0) break;
    literals.push(part.text);
  }
  return literals;
}

export function segmentIdentity(segment: RouteSegment): string {
  const partText = (part: RoutePart): string => {
    if (part.kind === 'literal') return part.text;
    return `{${part.isCatchAll ? '*' : ''}${part.constraintText.toLowerCase()}${part.isOptional || part.fallback !== undefined ? '?' : ''}}`;
  };
  return segment.map(partText).join('');
}

/** Splits at slashes outside of parameters: a regex constraint may contain slashes. */
function splitSegments(text: string): string[] {
  if (text === '') return [];
  const segments: string[] = [];
  let start = 0;
  let isInside = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if ((character === '{' || character === '}') && text[at + 1] === character) at += 1;
    else if (character === '{') isInside = true;
    else if (character === '}') isInside = false;
    else if (character === '/' && !isInside) {
      segments.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...segments, text.slice(start)];
}

type ParsedSegment = { readonly parts: RouteSegment } | { readonly problem: string };

function parseSegment(raw: string): ParsedSegment {
  if (raw === '') return { problem: 'has an empty segment' };
  const parts: RoutePart[] = [];
  let literal = '';
  const endLiteral = (): void => {
    if (literal !== '') parts.push({ kind: 'literal', text: literal.toLowerCase() });
    literal = '';
  };
  for (let at = 0; at < raw.length; at += 1) {
    const character = raw.charAt(at);
    if (character === '?') return { problem: 'has a "?" outside of a parameter' };
    if ((character === '{' || character === '}') && raw[at + 1] === character) {
      literal += character;
      at += 1;
    } else if (character === '}') return { problem: 'has a "}" without its "{"' };
    else if (character !== '{') literal += character;
    else {
      endLiteral();
      const end = endOfParameter(raw, at + 1);
      if (end === -1) return { problem: 'has a "{" without its "}"' };
      if (parts.at(-1)?.kind === 'parameter') return { problem: 'has two parameters with nothing between them' };
      const parameter = parseParameter(
        raw
          .slice(at + 1, end)
          .replaceAll('{{', '{')
          .replaceAll('}}', '}'),
      );
      if ('problem' in parameter) return parameter;
      parts.push(parameter);
      at = end;
    }
  }
  endLiteral();
  return checkSegment(parts);
}

function checkSegment(parts: RouteSegment): ParsedSegment {
  for (const [index, part] of parts.entries()) {
    if (part.kind === 'literal') continue;
    if (part.isCatchAll && parts.length > 1)
      return { problem: `has more in the segment of the catch-all "${part.name}"` };
    if (!part.isOptional || parts.length === 1) continue;
    const before = parts[index - 1];
    const isEnding = index === parts.length - 1 && before?.kind === 'literal' && before.text === '.';
    if (!isEnding)
      return {
        problem: `has the optional parameter "${part.name}" where only a "." may come before it and nothing after`,
      };
  }
  return { parts };
}

function endOfParameter(raw: string, from: number): number {
  for (let at = from; at < raw.length; at += 1) {
    if (raw[at] !== '}') continue;
    if (raw[at + 1] !== '}') return at;
    at += 1;
  }
  return -1;
}

function parseParameter(inner: string): RouteParameter | { readonly problem: string } {
  const [, stars = '', name = '', rest = ''] = /^(\*{0,2})([^:=?*/{}]*)(.*)$/s.exec(inner) ?? [];
  if (!/^[^\s.]{1,128}$/.test(name)) return { problem: `has a parameter without a valid name: {${inner}}` };
  const isOptional = rest.endsWith('?');
  const details = parseDetails(isOptional ? rest.slice(0, -1) : rest);
  if (!details) return { problem: `has an invalid parameter: {${inner}}` };
  const { constraints: written, fallback } = details;
  if (isOptional && (fallback !== undefined || stars !== ''))
    return {
      problem: `has the parameter "${name}", which is optional and also has a default or is a catch-all; use only one`,
    };
  const constraints: Constraint[] = [];
  for (const [constraint, argument] of written) {
    const compiled = compileConstraint(constraint, argument);
    if ('problem' in compiled) return { problem: `has the parameter "${name}": ${compiled.problem}` };
    constraints.push(compiled.accepts);
  }
  const constraintText = written.map(([constraint, argument = '']) => `:${constraint}(${argument})`).join('');
  return { kind: 'parameter', name, isOptional, isCatchAll: stars !== '', fallback, constraints, constraintText };
}

interface Details {
  readonly constraints: readonly (readonly [name: string, argument: string | undefined])[];
  readonly fallback: string | undefined;
}

/** Parses `:int:min(1)=5`. An argument ends at the parenthesis before `:`, `=` or the end, since patterns contain parentheses. */
function parseDetails(text: string): Details | undefined {
  const constraints: [string, string | undefined][] = [];
  let rest = text;
  while (rest.startsWith(':')) {
    const name = /^:([A-Za-z]+)/.exec(rest)?.[1];
    if (name === undefined) return undefined;
    rest = rest.slice(name.length + 1);
    if (!rest.startsWith('(')) {
      constraints.push([name, undefined]);
      continue;
    }
    const end = /\)(?=[:=]|$)/.exec(rest);
    if (!end) return undefined;
    constraints.push([name, rest.slice(1, end.index)]);
    rest = rest.slice(end.index + 1);
  }
  if (rest === '') return { constraints, fallback: undefined };
  return rest.startsWith('=') ? { constraints, fallback: rest.slice(1) } : undefined;
}
