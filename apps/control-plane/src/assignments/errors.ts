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

export const workerUnavailable = defineError<{ workerId: string; status: string }>('WORKER_UNAVAILABLE', {
  fault: 'caller',
  retryable: true,
  status: 409,
  message: (d) =>
    `The collection worker "${d.workerId}" is ${d.status} and takes no collection. Choose a worker that is READY; see "drover workers list".`,
  help: 'A collection can be assigned to a worker that is `READY`. List them with `drover workers list`.',
});

export const workerFull = defineError<{ workerId: string; capacity: number }>('WORKER_FULL', {
  fault: 'caller',
  retryable: true,
  status: 409,
  message: (d) =>
    `The collection worker "${d.workerId}" has its ${d.capacity} collections. Choose another worker, or raise WORKER_CAPACITY of this one.`,
  help: 'The worker has as many collections as its `WORKER_CAPACITY` allows.',
});

export const workerReserved = defineError<{ workerId: string }>('WORKER_RESERVED', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `The collection worker "${d.workerId}" serves other tenants only, by its pool or its TENANT_AFFINITY. Choose a worker of your pool; see "drover workers list".`,
  help: 'The `WORKER_POOL` of the worker is not that of the tenant, or the worker has the `TENANT_AFFINITY` of another tenant.',
});

export const assignmentUnknown = defineError<{ collection: string; workerId: string }>('ASSIGNMENT_UNKNOWN', {
  fault: 'caller',
  retryable: false,
  status: 404,
  message: (d) =>
    `The collection "${d.collection}" is not assigned to the worker "${d.workerId}". See "drover assignments list".`,
  help: 'List which worker serves which collection with `drover assignments list`.',
});

export const assignmentErrors = {
  workerUnknown,
  workerRegisteredAgain,
  workerUnavailable,
  workerFull,
  workerReserved,
  assignmentUnknown,
};
