import { defineError } from '@drover/contracts';

export const indexingBusy = defineError<{ limit: number }>('RUNTIME_INDEXING_BUSY', {
  fault: 'platform',
  retryable: true,
  status: 503,
  help: 'More applications are being indexed for deployments than the runtime does at a time. Deploy again shortly.',
  message: (d) => `${d.limit} applications already wait to be indexed. Deploy again shortly.`,
});

export const indexRequestInvalid = defineError<{ problem: string }>('RUNTIME_INDEX_REQUEST_INVALID', {
  fault: 'caller',
  retryable: false,
  status: 400,
  help: 'The request of a control plane to index an application is not valid. Use the same release of both.',
  message: (d) =>
    `The request to index an application is not valid: ${d.problem}. Use the same release of both processes.`,
});

export const indexingErrors = { indexingBusy, indexRequestInvalid };
