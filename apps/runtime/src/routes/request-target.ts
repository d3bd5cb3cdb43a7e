import { NullRecord } from '../bindings/null-record.js';
import type { PathSegments } from './route-matcher.js';

/** The two halves of what a request asks for. */
export interface RequestTarget {
  /** Begins with a slash; not decoded. */
  readonly path: string;
  /** Behind the question mark; not decoded. */
  readonly query: string;
}

/** Splits `/path?query`, also where a proxy put scheme and host in front. Undefined for what is no path at all. */
export function splitTarget(url: string): RequestTarget | undefined {
  const from = url.startsWith('/') ? 0 : pathStart(url);
  if (from === -1) return undefined;
  const hash = url.indexOf('#', from);
  const end = hash === -1 ? url.length : hash;
  const mark = url.indexOf('?', from);
  if (mark === -1 || mark > end) return { path: url.slice(from, end) || '/', query: '' };
  return { path: url.slice(from, mark) || '/', query: url.slice(mark + 1, end) };
}

function pathStart(url: string): number {
  const [matched] = /^https?:\/\/[^/?#]*/i.exec(url) ?? [];
  return matched === undefined ? -1 : matched.length;
}

/**
 * The segments of a path, decoded, without the slashes at both ends. Undefined for a path that would mean something else to
 * whoever reads it next: dots that go up or stay, and control characters.
 */
export function pathSegments(path: string): PathSegments | undefined {
  const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length;
  const inner = path.slice(1, end);
  if (inner === '') return { segments: [], folded: [] };
  const raw = inner.split('/');
  if (!inner.includes('%')) {
    // Most paths: looked at as a whole first.
    if (controls.test(inner) || (path.includes('/.') && raw.some(isTreacherous))) return undefined;
    return { segments: raw, folded: inner.toLowerCase().split('/') };
  }
  const segments = raw.map(decodeSegment);
  return segments.some(isTreacherous) ? undefined : { segments, folded: segments.map(fold) };
}

/** Escapes are decoded once, except those of a slash, which would look like two segments; what is no escape stays. */
export function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  return segment
    .split(/(%2f)/i)
    .map((part) => (part.toLowerCase() === '%2f' ? part : decode(part)))
    .join('');
}

/** The values of a query; several of one name with commas between them. */
export function parseQuery(query: string): Readonly<Record<string, string>> {
  const values = new NullRecord<string>();
  if (query === '') return values;
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const mark = pair.indexOf('=');
    const name = decodeForm(mark === -1 ? pair : pair.slice(0, mark));
    const value = mark === -1 ? '' : decodeForm(pair.slice(mark + 1));
    values[name] = name in values ? `${values[name]},${value}` : value;
  }
  return values;
}

function decodeForm(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return spaced.includes('%') ? decode(spaced) : spaced;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Some escape is none, or no UTF-8: decode the others.
    return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
      try {
        return decodeURIComponent(escapes);
      } catch {
        return escapes;
      }
    });
  }
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const controls = /[\u0000-\u001f\u007f]/;

function isTreacherous(segment: string): boolean {
  return segment === '.' || segment === '..' || controls.test(segment);
}

function fold(segment: string): string {
  return segment.toLowerCase();
}
