import { defineError } from '@drover/contracts';

export const recordRouteNotFound = defineError<{ path: string }>('RECORD_ROUTE_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `The path ${d.path} does not exist. Records are at /api/{collection} and /api/{collection}/{id}; /api/openapi.json lists all paths.`,
  help: 'Check the path against `/api/openapi.json`.',
});

export const recordMethodNotAllowed = defineError<{ method: string; path: string; allowed: readonly string[] }>(
  'METHOD_NOT_ALLOWED',
  {
    fault: 'caller',
    retryable: false,
    status: 405,
    message: (d) => `${d.path} does not take ${d.method}. Send ${d.allowed.join(', ')}.`,
    help: 'Use one of the methods in the header `Allow` of the response.',
  },
);

export const recordMediaTypeUnsupported = defineError<{ received: string; accepted: readonly string[] }>(
  'RECORD_MEDIA_TYPE_UNSUPPORTED',
  {
    fault: 'caller',
    retryable: false,
    status: 415,
    message: (d) => `The request body is ${d.received}. Send ${d.accepted.join(' or ')}, without compression.`,
    help: 'Set `Content-Type` to the media type of the body: `application/json` or `application/vnd.api+json` for records.',
  },
);

export const childUnknown = defineError<{ parent: string; child: string }>('RECORD_CHILD_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `The collection "${d.child}" has no field that references "${d.parent}". Read /api/${d.child} instead, or add a LOOKUP or MASTER_DETAIL field.`,
  help: 'A path below a record names a collection with a field that references the collection of the record.',
});

export const childAmbiguous = defineError<{ parent: string; child: string; fields: readonly string[] }>(
  'RECORD_CHILD_AMBIGUOUS',
  {
    fault: 'caller',
    retryable: false,
    status: 400,
    message: (d) =>
      `The collection "${d.child}" references "${d.parent}" with several fields: ${d.fields.join(', ')}. Filter /api/${d.child} by one of them.`,
    help: 'Filter the collection by the field that is meant: `/api/{child}?filter[field][eq]={id}`.',
  },
);

export const recordStatementTimeout = defineError<{ limitMs: number }>('RECORD_STATEMENT_TIMEOUT', {
  fault: 'caller',
  retryable: true,
  status: 503,
  message: (d) =>
    `The database worked on the request for longer than ${d.limitMs} ms. Narrow the filter, add an index, or raise DROVER_RECORDS_STATEMENT_TIMEOUT_MS.`,
  help: 'The statement took longer than `DROVER_RECORDS_STATEMENT_TIMEOUT_MS`, or waited that long for a lock. Nothing was changed. Narrow the filter, or add an index to the fields that it uses.',
});

export const recordConnectionsBusy = defineError('RECORD_CONNECTIONS_BUSY', {
  fault: 'caller',
  retryable: true,
  status: 503,
  message: () =>
    'All connections of the collection worker to PostgreSQL are in use, and none became free in time. Nothing was changed. Try again shortly, or raise DROVER_DATABASE_POOL_SIZE.',
  help: 'No connection became free within two seconds. Nothing was changed. Try again shortly. If this lasts, look for slow statements or locks in PostgreSQL, or raise `DROVER_DATABASE_POOL_SIZE`.',
});

export const collectionNotAssigned = defineError<{ collection: string; generation: number }>(
  'COLLECTION_NOT_ASSIGNED',
  {
    fault: 'platform',
    retryable: true,
    status: 421,
    message: (d) =>
      `The collection "${d.collection}" is not assigned to this collection worker. Read its route again and send the request to another worker.`,
    help: 'Answers of collection workers to gateways, which send the request to another worker: clients do not see it.',
  },
);

export const collectionWorkerPortUnusable = defineError<{ host: string; port: number; reason: string }>(
  'COLLECTION_WORKER_PORT_UNUSABLE',
  {
    fault: 'caller',
    retryable: false,
    status: 503,
    message: (d) =>
      `The collection worker cannot listen on ${d.host}:${d.port} (${d.reason}). Choose another address with DROVER_COLLECTION_WORKER_HOST and DROVER_COLLECTION_WORKER_PORT.`,
    help: 'The port is in use, needs privileges, or the address does not belong to this machine. Choose another one.',
  },
);

export const collectionWorkerErrors = {
  recordRouteNotFound,
  recordMethodNotAllowed,
  recordMediaTypeUnsupported,
  childUnknown,
  childAmbiguous,
  recordStatementTimeout,
  recordConnectionsBusy,
  collectionNotAssigned,
  collectionWorkerPortUnusable,
};
