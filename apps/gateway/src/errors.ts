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
  help: 'The collection worker cannot be reached just now; it is started again by itself. Nothing was written. Try again shortly.',
  message: (d) => `The collection worker cannot be reached: ${d.reason}. Try again shortly.`,
});

export const collectionWorkerBroke = defineError<{ reason: string }>('GATEWAY_COLLECTION_WORKER_BROKE_OFF', {
  fault: 'platform',
  retryable: false,
  status: 502,
  help: 'The collection worker went away while it served the request. Whether a write had its effect is not known: read the record, or repeat the request with the same Idempotency-Key.',
  message: (d) => `The collection worker broke off: ${d.reason}. Read the record to see whether the write took place.`,
});

export const collectionWorkerAbsent = defineError('GATEWAY_NO_COLLECTION_WORKER', {
  fault: 'caller',
  retryable: false,
  status: 501,
  help: 'Set `DROVER_COLLECTION_WORKER_URL` of the gateway to the address of a collection worker; `drover up` starts one.',
  message: () => 'No collection worker is configured here. Set DROVER_COLLECTION_WORKER_URL, or start with: drover up',
});

export const gatewayErrors = {
  runtimeUnreachable,
  runtimeBroke,
  noFunctions,
  collectionWorkerUnreachable,
  collectionWorkerBroke,
  collectionWorkerAbsent,
};
