import { NullRecord } from '../bindings/null-record.js';
import type { PathSegments } from './route-matcher.js';

/** The path and the query of a request target. */
export interface RequestTarget {
  /** Starts with a slash; not decoded. */
  readonly path: string;
  /** Without the question mark; not decoded. */
  readonly query: string;
}

/** Splits `/path?query`, also in absolute form with scheme and host. Returns undefined if there is no path. */
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
 * Splits a path into decoded segments. Returns undefined for dot segments and control characters, which the next server could
 * interpret as another path.
 */
export function pathSegments(path: string): PathSegments | undefined {
  const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length;
  const inner = path.slice(1, end);
  if (inner === '') return { segments: [], folded: [] };
  const raw = inner.split('/');
  if (!inner.includes('%')) {
    // Common case: the path is checked as a whole first.
    if (controls.test(inner) || (path.includes('/.') && raw.some(isUnsafe))) return undefined;
    return { segments: raw, folded: inner.toLowerCase().split('/') };
  }
  const segments = raw.map(decodeSegment);
  return segments.some(isUnsafe) ? undefined : { segments, folded: segments.map(fold) };
}

/** Decodes escapes once, except an escaped slash, which would look like two segments. Invalid escapes stay. */
export function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  return segment
    .split(/(%2f)/i)
    .map((part) => (part.toLowerCase() === '%2f' ? part : decode(part)))
    .join('');
}

/** Parses a query. Repeated names are joined with commas. */
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
    // An escape is invalid or not UTF-8: decode the others.
    return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
      try {
        return decodeURIComponent(escapes);
      } catch {
        return escapes;
      }
    });
  }
}

// oxlint-disable-next-line no-control-regex -- control characters are searched for
const controls = /[\u0000-\u001f\u007f]/;

function isUnsafe(segment: string): boolean {
  return segment === '.' || segment === '..' || controls.test(segment);
}

function fold(segment: string): string {
  return segment.toLowerCase();
}
