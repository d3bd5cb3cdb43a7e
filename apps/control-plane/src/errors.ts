import { defineError } from '@drover/contracts';

export const authenticationRequired = defineError('AUTHENTICATION_REQUIRED', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: () =>
    'The request has no valid API key. Send "Authorization: Bearer drv_…"; "drover up" writes a key to credentials.json.',
  help: 'The key is missing, unknown, expired or revoked. Use the key in `credentials.json`, or create one with `drover keys create`.',
});

export const accessDenied = defineError<{ scope: string }>('ACCESS_DENIED', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) => `The API key lacks the scope ${d.scope}. Use a key that has it.`,
  help: 'The key is valid but not allowed to do this. Use a key with the scope that the message names.',
});

export const routeNotFound = defineError<{ method: string; path: string }>('ROUTE_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `The route ${d.method} ${d.path} does not exist. See /openapi.json for all routes.`,
  help: 'Check method and path against `/openapi.json`.',
});

export const apiKeyNotFound = defineError<{ keyId: string }>('API_KEY_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `The API key ${d.keyId} does not exist in your tenant. List the keys with "drover keys list".`,
  help: 'List the keys with `drover keys list`.',
});

export const scopeNotHeld = defineError<{ scopes: readonly string[] }>('API_KEY_SCOPE_NOT_HELD', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) =>
    `Your API key does not have ${d.scopes.join(', ')} and cannot grant them. Ask for fewer scopes, or use a key that has them.`,
  help: 'A key can create only keys whose scopes it has itself.',
});

export const keyWouldOutlive = defineError<{ until: string }>('API_KEY_WOULD_OUTLIVE', {
  fault: 'caller',
  retryable: false,
  status: 403,
  message: (d) =>
    `Your API key expires at ${d.until} and cannot create a key that expires later. Set an earlier expiresAt.`,
  help: 'A key that expires can create only keys that expire no later.',
});

export const requestInvalid = defineError<{ problem: string }>('VALIDATION_ERROR', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'The request does not match `/openapi.json`; `details` names the places.',
});

export const bodyUnreadable = defineError<{ problem: string }>('BAD_REQUEST', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'The request cannot be parsed. Send well-formed HTTP and JSON.',
});

export const bodyTooLarge = defineError<{ limitBytes: number }>('PAYLOAD_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 413,
  message: (d) => `The request body is larger than ${d.limitBytes} bytes. Send less, or raise DROVER_BODY_LIMIT_BYTES.`,
  help: 'Send less, or raise `DROVER_BODY_LIMIT_BYTES`.',
});

export const addressTooLong = defineError<{ limitBytes: number }>('URI_TOO_LONG', {
  fault: 'caller',
  retryable: false,
  status: 414,
  message: (d) => `The request URL is longer than ${d.limitBytes} bytes. Send long values in the body.`,
  help: 'Send long values in the body.',
});

export const headersTooLarge = defineError<{ limitBytes: number; limitCount: number }>('HEADERS_TOO_LARGE', {
  fault: 'caller',
  retryable: false,
  status: 431,
  message: (d) =>
    `The request has more than ${d.limitCount} headers, or more than ${d.limitBytes} bytes of them. Send fewer and shorter headers.`,
  help: 'Send fewer and shorter headers.',
});

export const requestTooSlow = defineError<{ headersMs: number; requestMs: number }>('REQUEST_TIMEOUT', {
  fault: 'caller',
  retryable: true,
  status: 408,
  message: (d) =>
    `The request took too long to arrive: the limit is ${d.headersMs} ms for headers and ${d.requestMs} ms in all. Try again.`,
  help: 'The connection was too slow or idle. Try again, with a smaller body if the network is slow.',
});

export const mediaTypeUnsupported = defineError<{ received: string; expected?: string }>('UNSUPPORTED_MEDIA_TYPE', {
  fault: 'caller',
  retryable: false,
  status: 415,
  message: (d) => `The request body is ${d.received}. Send ${d.expected ?? 'application/json'} without compression.`,
  help: 'Send JSON with `Content-Type: application/json`, or a file with the type that `/openapi.json` names.',
});

export const shuttingDown = defineError('SHUTTING_DOWN', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: () => 'This process is shutting down and accepts no more requests. Try again.',
  help: 'Try again: another replica, or this one after its restart, will answer.',
});

export const portTaken = defineError<{ host: string; port: number }>('PORT_TAKEN', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `Port ${d.port} on ${d.host} is in use by another program. Stop it, or choose another port with --port or DROVER_PORT (0 takes any free one).`,
  help: 'Another program listens on the port, perhaps another Drover. Stop it, or choose another port.',
});

export const addressUnusable = defineError<{ host: string; port: number; reason: string }>('ADDRESS_UNUSABLE', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `Drover cannot listen on ${d.host}:${d.port} (${d.reason}). Choose another address with DROVER_HOST and --port.`,
  help: 'The address does not belong to this machine, or the port needs privileges that the process lacks.',
});

export const bootstrapKeyInvalid = defineError<{ file: string; problem: string }>('BOOTSTRAP_KEY_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `The key file ${d.file} ${d.problem}. Delete it and start "drover up" again for a new key, or correct it.`,
  help: 'The file named by `DROVER_BOOTSTRAP_KEY_FILE` must be JSON with an `apiKey` of the form drv_<id>_<secret>.',
});

export const scaleControllerElsewhere = defineError('SCALE_CONTROLLER_ELSEWHERE', {
  fault: 'caller',
  retryable: false,
  status: 501,
  message: () =>
    'Scaling is explained by the scale controller, and it does not run in this process. Ask the process that runs it.',
  help: 'The control plane and the scale controller run as separate processes: ask the one of `drover up`, or the scale controller.',
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
  scaleControllerElsewhere,
};
