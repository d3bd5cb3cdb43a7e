import { defineError } from '@drover/contracts';

export const authenticationRequired = defineError('AUTHENTICATION_REQUIRED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: () =>
    'send an API key that is good here: "Authorization: Bearer drv_…"; "drover up" writes one to credentials.json',
  help: 'The key is missing, unknown, expired or revoked: use the one from `credentials.json`, or have one made.',
});

export const accessDenied = defineError<{ scope: string }>('ACCESS_DENIED', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) => `your key lacks the scope ${d.scope}; use one that has it`,
  help: 'The key is good, but not for this: use one with the scope that the message names.',
});

export const routeNotFound = defineError<{ method: string; path: string }>('ROUTE_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `there is no ${d.method} ${d.path}; /openapi.json lists what there is`,
  help: 'Check method and path against `/openapi.json`.',
});

export const apiKeyNotFound = defineError<{ keyId: string }>('API_KEY_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `your tenant has no key ${d.keyId}`,
  help: 'List the keys with `drover keys list`.',
});

export const scopeNotHeld = defineError<{ scopes: readonly string[] }>('API_KEY_SCOPE_NOT_HELD', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) => `your key cannot pass on ${d.scopes.join(', ')}, since it lacks them itself`,
  help: 'A key can only make keys that may do no more than itself.',
});

export const keyWouldOutlive = defineError<{ until: string }>('API_KEY_WOULD_OUTLIVE', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) => `your key ends at ${d.until} and cannot make one that lives longer; name an earlier expiresAt`,
  help: 'A key that expires can only make keys that expire no later.',
});

export const requestInvalid = defineError<{ problem: string }>('VALIDATION_ERROR', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'The request does not fit `/openapi.json`; `details` says where.',
});

export const bodyUnreadable = defineError<{ problem: string }>('BAD_REQUEST', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'The request cannot be read: send well-formed HTTP and JSON.',
});

export const bodyTooLarge = defineError<{ limitBytes: number }>('PAYLOAD_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 413,
  message: (d) => `the body is larger than ${d.limitBytes} bytes`,
  help: 'Send less, or raise `DROVER_BODY_LIMIT_BYTES`.',
});

export const addressTooLong = defineError<{ limitBytes: number }>('URI_TOO_LONG', {
  fault: 'caller',
  retryable: false,
  status: 414,
  message: (d) => `the address is longer than ${d.limitBytes} bytes`,
  help: 'Send long values in the body.',
});

export const headersTooLarge = defineError<{ limitBytes: number; limitCount: number }>('HEADERS_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 431,
  message: (d) => `the request has more than ${d.limitCount} headers, or more than ${d.limitBytes} bytes of them`,
  help: 'Send fewer and shorter headers.',
});

export const requestTooSlow = defineError<{ headersMs: number; requestMs: number }>('REQUEST_TIMEOUT', {
  fault: 'caller',
  retryable: true,
  status: 408,
  message: (d) => `the request took too long to arrive: headers have ${d.headersMs} ms, all of it ${d.requestMs} ms`,
  help: 'The connection was too slow or stood still: try again, with a smaller body if the network is slow.',
});

export const mediaTypeUnsupported = defineError<{ received: string }>('UNSUPPORTED_MEDIA_TYPE', {
  fault: 'caller',
  retryable: false,
  status: 415,
  message: (d) => `the body is ${d.received}; send application/json, not compressed`,
  help: 'Send JSON with `Content-Type: application/json`.',
});

export const shuttingDown = defineError('SHUTTING_DOWN', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'this process is stopping and takes no more requests',
  help: 'Try again: another process, or this one restarted, will answer.',
});

export const portTaken = defineError<{ host: string; port: number }>('PORT_TAKEN', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `port ${d.port} on ${d.host} is taken by another program; stop that one, or choose another with --port or DROVER_PORT (0 takes any free one)`,
  help: 'Another program listens there, perhaps another Drover: stop it, or choose another port.',
});

export const addressUnusable = defineError<{ host: string; port: number; reason: string }>('ADDRESS_UNUSABLE', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) => `cannot listen on ${d.host}:${d.port} (${d.reason}); choose another with DROVER_HOST and --port`,
  help: 'The address is not of this machine, or the port needs rights that the process lacks.',
});

export const bootstrapKeyInvalid = defineError<{ file: string; problem: string }>('BOOTSTRAP_KEY_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) => `${d.file} ${d.problem}; delete it and start "drover up" again for a new key, or correct it`,
  help: 'The file named by `DROVER_BOOTSTRAP_KEY_FILE` must be JSON with an `apiKey` of the form drv_<id>_<secret>.',
});

export const controlPlaneErrors = {
  authenticationRequired,
  accessDenied,
  routeNotFound,
  apiKeyNotFound,
  scopeNotHeld,
  keyWouldOutlive,
  requestInvalid,
  bodyUnreadable,
  bodyTooLarge,
  addressTooLong,
  headersTooLarge,
  requestTooSlow,
  mediaTypeUnsupported,
  shuttingDown,
  portTaken,
  addressUnusable,
  bootstrapKeyInvalid,
};
