import { defineError } from '@drover/contracts';

export const runtimeUnreachable = defineError<{ reason: string }>('GATEWAY_RUNTIME_UNREACHABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'The runtime that serves functions cannot be reached just now; it is started again by itself. Try again shortly.',
  message: (d) => `functions cannot be reached: ${d.reason}`,
});

export const runtimeBroke = defineError<{ reason: string }>('GATEWAY_RUNTIME_BROKE_OFF', {
  fault: 'platform',
  retryable: false,
  status: 502,
  advice: 'Whether the function ran to its end is not known.',
  help: 'The runtime went away while it ran the request. Whether the function ran to its end is not known.',
  message: (d) => `the runtime broke off: ${d.reason}`,
});

export const noFunctions = defineError('GATEWAY_NO_FUNCTIONS', {
  fault: 'caller',
  retryable: false,
  status: 404,
  help: 'Nothing serves functions here. Start with `drover up --app <directory>`.',
  message: () => 'no application is deployed here; start with: drover up --app <directory>',
});

export const collectionWorkerUnreachable = defineError<{ reason: string }>('GATEWAY_COLLECTION_WORKER_UNREACHABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'No worker of the collection can be reached just now; workers are started again and collections reassigned by themselves. Nothing was written. Try again shortly.',
  message: (d) => `The collection worker cannot be reached: ${d.reason}. Try again shortly.`,
});

export const collectionWorkerBroke = defineError<{ reason: string }>('GATEWAY_COLLECTION_WORKER_BROKE_OFF', {
  fault: 'platform',
  retryable: false,
  status: 502,
  advice: 'Read the record to see whether the write took place before you repeat it.',
  help: 'The collection worker went away while it served the request. Whether a write had its effect is not known: read the record, or repeat the request with the same Idempotency-Key.',
  message: (d) => `The collection worker broke off: ${d.reason}`,
});

export const collectionWorkerAbsent = defineError('GATEWAY_NO_COLLECTION_WORKER', {
  fault: 'caller',
  retryable: false,
  status: 501,
  help: 'Start a collection worker: it registers with the control plane; `drover up` starts some. Or set `DROVER_COLLECTION_WORKER_URL` of the gateway to the address of one.',
  message: () =>
    'No collection worker has registered, and none is configured. Start one with: drover collection-worker',
});

export const collectionWorkersBusy = defineError<{ workers: number }>('GATEWAY_COLLECTION_WORKERS_BUSY', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'Every worker of the collection has as many requests in flight as the gateway allows (`DROVER_GATEWAY_WORKER_REQUESTS`). Nothing was written. Try again shortly, or run more collection workers.',
  message: (d) =>
    `All collection workers of the collection (${d.workers}) have the most requests in flight that the gateway allows. Try again shortly.`,
});

export const collectionWorkerTimedOut = defineError<{ afterMs: number }>('GATEWAY_COLLECTION_WORKER_TIMED_OUT', {
  fault: 'platform',
  retryable: false,
  status: 504,
  advice: 'Read the record to see whether the write took place before you repeat it.',
  help: 'The collection worker did not begin to answer within `DROVER_GATEWAY_RESPONSE_TIMEOUT_MS`. Whether a write had its effect is not known: read the record, or repeat the request with the same Idempotency-Key.',
  message: (d) => `The collection worker has not answered in ${d.afterMs} ms`,
});

export const controlPlaneUnreachable = defineError<{ reason: string }>('GATEWAY_CONTROL_PLANE_UNREACHABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'The control plane cannot be reached just now. Collections and functions are served without it. Try again shortly.',
  message: (d) => `The control plane cannot be reached: ${d.reason}. Try again shortly.`,
});

export const controlPlaneBroke = defineError<{ reason: string }>('GATEWAY_CONTROL_PLANE_BROKE_OFF', {
  fault: 'platform',
  retryable: false,
  status: 502,
  advice: 'Read what the request was to change before you repeat it.',
  help: 'The control plane went away while it served the request. Whether the request had its effect is not known: read what it was to change.',
  message: (d) => `The control plane broke off: ${d.reason}`,
});

export const controlPlaneAbsent = defineError('GATEWAY_NO_CONTROL_PLANE', {
  fault: 'caller',
  retryable: false,
  status: 501,
  help: 'Set `CONTROL_PLANE_URL` of the gateway to the address of the control plane, or call the control plane itself.',
  message: () => 'This gateway knows no control plane. Set CONTROL_PLANE_URL, or call the control plane itself.',
});

export const gatewayPortUnusable = defineError<{ host: string; port: number; reason: string }>(
  'GATEWAY_PORT_UNUSABLE',
  {
    fault: 'customer',
    retryable: false,
    status: 500,
    help: 'Another process uses the port, or the address is not one of this machine. Set `DROVER_GATEWAY_PORT` or `DROVER_GATEWAY_HOST`.',
    message: (d) =>
      `The gateway cannot listen on ${d.host}:${d.port} (${d.reason}). Set DROVER_GATEWAY_PORT or DROVER_GATEWAY_HOST.`,
  },
);

export const gatewayErrors = {
  runtimeUnreachable,
  runtimeBroke,
  noFunctions,
  collectionWorkerUnreachable,
  collectionWorkerBroke,
  collectionWorkerAbsent,
  collectionWorkersBusy,
  collectionWorkerTimedOut,
  controlPlaneUnreachable,
  controlPlaneBroke,
  controlPlaneAbsent,
  gatewayPortUnusable,
};
