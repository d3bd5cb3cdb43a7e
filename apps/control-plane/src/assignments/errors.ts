import { defineError } from '@drover/contracts';

export const workerUnknown = defineError<{ workerId: string }>('WORKER_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `The collection worker "${d.workerId}" is not registered. Register it with POST /control/workers/register.`,
  help: 'The worker never registered, or was away for so long that it was removed. Workers register again by themselves.',
});

export const workerRegisteredAgain = defineError<{ workerId: string; incarnation: number; current: number }>(
  'WORKER_REGISTERED_AGAIN',
  {
    fault: 'caller',
    retryable: false,
    status: 409,
    message: (d) =>
      `The collection worker "${d.workerId}" was registered again by another process (incarnation ${d.current}, not ${d.incarnation}). Give each worker its own WORKER_ID.`,
    help: 'Two processes use one `WORKER_ID`; the later one stays registered. Give each worker its own, or none.',
  },
);

export const assignmentErrors = { workerUnknown, workerRegisteredAgain };
