import type { CollectionOperations, TenantOperations } from '@drover/collection-engine';

export type RecordMethod = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** A path and a method of the records API, and the operation that serves it. */
export type RecordRoute = RouteTraits &
  (
    | { readonly of: 'collection'; readonly operation: keyof CollectionOperations }
    | { readonly of: 'tenant'; readonly operation: keyof TenantOperations }
  );

interface RouteTraits {
  readonly method: RecordMethod;
  /** Pattern of the path: the label of metrics and spans. */
  readonly path: RecordPath;
  /** What the body may be; records unless given. `upload`: the operation reads it as it arrives, of any size and type. */
  readonly body?: 'upload';
  /** The response has no end: it ends when the process drains. */
  readonly isEndless?: true;
}

export type RecordPath = (typeof paths)[number];

const paths = [
  '/api/operations',
  '/api/_search',
  '/api/openapi.json',
  '/api/{collection}',
  '/api/{collection}/aggregate',
  '/api/{collection}/_changes',
  '/api/{collection}/stream',
  '/api/{collection}/import',
  '/api/{collection}/export',
  '/api/{collection}/{id}',
  '/api/{collection}/{id}/restore',
  '/api/{collection}/{id}/versions',
  '/api/{collection}/{id}/versions/{version}',
  '/api/{collection}/{id}/versions/{version}/restore',
] as const;

/** The route table of the records API. Paths below `/api/{parent}/{id}` serve some of them for the children of a record. */
export const recordRoutes: readonly RecordRoute[] = [
  { method: 'POST', path: '/api/operations', of: 'tenant', operation: 'runOperations' },
  { method: 'GET', path: '/api/_search', of: 'tenant', operation: 'searchTenant' },
  { method: 'GET', path: '/api/openapi.json', of: 'tenant', operation: 'describeApi' },
  { method: 'GET', path: '/api/{collection}', of: 'collection', operation: 'listRecords' },
  { method: 'POST', path: '/api/{collection}', of: 'collection', operation: 'createRecords' },
  { method: 'PATCH', path: '/api/{collection}', of: 'collection', operation: 'updateRecords' },
  { method: 'PUT', path: '/api/{collection}', of: 'collection', operation: 'replaceRecords' },
  { method: 'DELETE', path: '/api/{collection}', of: 'collection', operation: 'deleteRecords' },
  { method: 'GET', path: '/api/{collection}/aggregate', of: 'collection', operation: 'aggregateRecords' },
  { method: 'GET', path: '/api/{collection}/_changes', of: 'collection', operation: 'listChanges' },
  { method: 'GET', path: '/api/{collection}/stream', of: 'collection', operation: 'streamChanges', isEndless: true },
  { method: 'POST', path: '/api/{collection}/import', of: 'collection', operation: 'importRecords', body: 'upload' },
  { method: 'GET', path: '/api/{collection}/export', of: 'collection', operation: 'exportRecords' },
  { method: 'GET', path: '/api/{collection}/{id}', of: 'collection', operation: 'getRecord' },
  { method: 'PATCH', path: '/api/{collection}/{id}', of: 'collection', operation: 'updateRecord' },
  { method: 'PUT', path: '/api/{collection}/{id}', of: 'collection', operation: 'replaceRecord' },
  { method: 'DELETE', path: '/api/{collection}/{id}', of: 'collection', operation: 'deleteRecord' },
  { method: 'POST', path: '/api/{collection}/{id}/restore', of: 'collection', operation: 'restoreRecord' },
  { method: 'GET', path: '/api/{collection}/{id}/versions', of: 'collection', operation: 'listRecordVersions' },
  { method: 'GET', path: '/api/{collection}/{id}/versions/{version}', of: 'collection', operation: 'getRecordVersion' },
  {
    method: 'POST',
    path: '/api/{collection}/{id}/versions/{version}/restore',
    of: 'collection',
    operation: 'restoreRecordVersion',
  },
];
