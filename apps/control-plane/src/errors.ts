import { defineError } from '@drover/contracts';

export const routeNotFound = defineError<{ method: string; path: string }>('ROUTE_NOT_FOUND', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) => `The route ${d.method} ${d.path} does not exist. See /openapi.json for all routes.`,
  help: 'Check method and path against `/openapi.json`.',
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
  routeNotFound,
  scopeNotHeld,
  keyWouldOutlive,
  requestInvalid,
  portTaken,
  addressUnusable,
  bootstrapKeyInvalid,
  scaleControllerElsewhere,
};
