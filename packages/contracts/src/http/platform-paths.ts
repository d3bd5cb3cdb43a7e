import { applicationRoutes } from './application-routes.js';
import { collectionRoutes } from './collection-routes.js';
import { controlRoutes } from './control-routes.js';
import { functionRoutes } from './function-routes.js';
import type { Route } from './route.js';

interface PlatformPaths {
  /** First segments below which every path is the platform's: `v1`. */
  readonly namespaces: ReadonlySet<string>;
  /** Paths of one segment: `healthz`. A function may have a longer path that starts with it. */
  readonly documents: ReadonlySet<string>;
}

const { namespaces, documents } = collectPaths([
  ...Object.values(controlRoutes),
  ...Object.values(functionRoutes),
  ...Object.values(applicationRoutes),
  ...Object.values(collectionRoutes),
]);

/**
 * Whether a request target on the public port belongs to the functions of the applications, and not to the platform itself.
 * The platform has a closed set of paths, which wins over any function; applications choose their route prefix, which may be
 * empty, so every other path is theirs. The decision needs no knowledge of what is deployed, so it cannot be out of date, and
 * every process that sees a request comes to the same result.
 */
export function isForFunctions(target: string): boolean {
  // These two are nearly all requests and need no look-up.
  if (target.startsWith('/v1/')) return false;
  if (target.startsWith('/api/')) return true;
  const from = target.startsWith('/') ? 0 : authorityEnd(target);
  if (from === -1) return false;
  const end = endOfSegment(target, from + 1);
  const first = target.slice(from + 1, end);
  if (namespaces.has(first)) return false;
  return target.charAt(end) === '/' || !documents.has(first);
}

/** Names below `/api/` that belong to the records API as soon as a tenant has a collection; no collection can have them. */
export const sharedRecordsNames: ReadonlySet<string> = new Set(['operations', '_search', 'openapi.json']);

/**
 * Returns the name of the collection that a request target would be about: the first segment below `/api/`, decoded. Undefined for any
 * other target.
 */
export function recordsPathName(target: string): string | undefined {
  if (!target.startsWith('/api/')) return undefined;
  const name = target.slice(5, endOfSegment(target, 5));
  if (!name.includes('%')) return name === '' ? undefined : name;
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

const importTarget = /^\/api\/[^?]+\/import(?:\?|$)/;

/** Whether a request uploads a file of records, which may take longer than other bodies. */
export function isRecordsImport(method: string | undefined, target: string | undefined): boolean {
  return method === 'POST' && target !== undefined && importTarget.test(target);
}

function collectPaths(routes: readonly Route[]): PlatformPaths {
  const paths = routes.map(({ path }) => path.slice(1).split('/'));
  return {
    namespaces: new Set(paths.flatMap(([first = '', ...more]) => (more.length > 0 ? [first] : []))),
    documents: new Set(paths.flatMap(([first = '', ...more]) => (more.length > 0 ? [] : [first]))),
  };
}

/** Returns where the path of an absolute target starts; -1 for `*` and for a bare authority. */
function authorityEnd(target: string): number {
  const [matched] = /^https?:\/\/[^/?#]*/i.exec(target) ?? [];
  return matched === undefined ? -1 : matched.length;
}

function endOfSegment(target: string, from: number): number {
  for (let at = from; at < target.length; at += 1) {
    const code = target.charCodeAt(at);
    if (code === 47 || code === 63 || code === 35) return at; // slash, question mark, hash
  }
  return target.length;
}
