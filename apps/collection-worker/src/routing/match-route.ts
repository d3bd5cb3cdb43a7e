import { bodyUnreadable } from '@drover/http-edge';
import { recordMethodNotAllowed, recordRouteNotFound } from '../errors.js';
import { recordRoutes, type RecordPath, type RecordRoute } from './record-routes.js';

/** Where a request goes: its route, and the names and ids in its path, decoded but not checked. */
export interface RecordRouteMatch {
  readonly route: RecordRoute;
  /** As it was sent, without the query. */
  readonly path: string;
  /** As it was sent, without the question mark. */
  readonly query: string;
  /** Undefined for paths of the whole tenant. */
  readonly collection: string | undefined;
  readonly id: string | undefined;
  readonly version: string | undefined;
  /** The record whose children the request is about. */
  readonly parent: { readonly collection: string; readonly id: string } | undefined;
}

type Place = Pick<RecordRouteMatch, 'collection' | 'id' | 'version' | 'parent'> & { readonly pattern: RecordPath };

const routesByPath = new Map<RecordPath, Map<string, RecordRoute>>();
for (const route of recordRoutes) {
  const methods = routesByPath.get(route.path) ?? new Map<string, RecordRoute>();
  routesByPath.set(route.path, methods.set(route.method, route));
}

const prefix = '/api/';

/** Whether a request target belongs to the records API. */
export function isForRecords(target: string): boolean {
  return target.startsWith(prefix);
}

/** Finds the route of a request. HEAD is served as GET. Throws RECORD_ROUTE_NOT_FOUND or METHOD_NOT_ALLOWED. */
export function matchRecordRoute(method: string, target: string): RecordRouteMatch {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark + 1);
  if (!isForRecords(path)) notFound(path);
  const { pattern, ...place } = placeOf(path.slice(prefix.length).split('/').map(decode)) ?? notFound(path);
  const methods = routesByPath.get(pattern) ?? new Map<string, RecordRoute>();
  const route = methods.get(method === 'HEAD' ? 'GET' : method);
  if (!route) throw recordMethodNotAllowed({ method, path: shown(path), allowed: allowedOf([...methods.keys()]) });
  return { route, path, query, ...place };
}

/** The methods of a path, for the header `Allow`. */
function allowedOf(methods: readonly string[]): readonly string[] {
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods;
}

const ofTenant: Readonly<Record<string, RecordPath>> = {
  operations: '/api/operations',
  _search: '/api/_search',
  'openapi.json': '/api/openapi.json',
};
const ofCollection: Readonly<Record<string, RecordPath>> = {
  aggregate: '/api/{collection}/aggregate',
  _changes: '/api/{collection}/_changes',
  changes: '/api/{collection}/_changes',
  stream: '/api/{collection}/stream',
  import: '/api/{collection}/import',
  export: '/api/{collection}/export',
};

/** What is served for the children of a record. Other operations would not look at the record: a path that names it must not exist. */
const ofChildren: ReadonlySet<RecordPath> = new Set([
  '/api/{collection}',
  '/api/{collection}/aggregate',
  '/api/{collection}/export',
  '/api/{collection}/{id}',
]);

function placeOf(all: readonly string[]): Place | undefined {
  // A slash at the end changes nothing.
  const segments = all.at(-1) === '' ? all.slice(0, -1) : all;
  const [first] = segments;
  if (first === undefined || segments.includes('')) return undefined;
  const pattern = segments.length === 1 && Object.hasOwn(ofTenant, first) ? ofTenant[first] : undefined;
  if (pattern) return { pattern, collection: undefined, id: undefined, version: undefined, parent: undefined };
  const place = placeOfCollection(segments, undefined);
  return place?.parent && !ofChildren.has(place.pattern) ? undefined : place;
}

function placeOfCollection(segments: readonly string[], parent: RecordRouteMatch['parent']): Place | undefined {
  const [collection = '', second, third, fourth, ...rest] = segments;
  const at = (pattern: RecordPath, id?: string, version?: string): Place => ({
    pattern,
    collection,
    id,
    version,
    parent,
  });
  if (second === undefined) return at('/api/{collection}');
  if (third === undefined) {
    const action = Object.hasOwn(ofCollection, second) ? ofCollection[second] : undefined;
    return action ? at(action) : at('/api/{collection}/{id}', second);
  }
  if (third === 'restore' && fourth === undefined) return at('/api/{collection}/{id}/restore', second);
  if (third === 'versions') {
    if (fourth === undefined) return at('/api/{collection}/{id}/versions', second);
    if (rest.length === 0) return at('/api/{collection}/{id}/versions/{version}', second, fourth);
    const isRestore = rest.length === 1 && rest[0] === 'restore';
    return isRestore ? at('/api/{collection}/{id}/versions/{version}/restore', second, fourth) : undefined;
  }
  // Children of children have paths of their own.
  return parent ? undefined : placeOfCollection(segments.slice(2), { collection, id: second });
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw bodyUnreadable({ problem: `The path has "${shown(segment)}", which is not valid percent-encoding.` });
  }
}

function notFound(path: string): never {
  throw recordRouteNotFound({ path: shown(path) });
}

function shown(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 200)}…`;
}
