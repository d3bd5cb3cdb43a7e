import { integer, milliseconds } from '@drover/service-kit';

export const assignmentVariables = {
  collectionReplicas: integer('DROVER_COLLECTION_REPLICAS', {
    min: 1,
    max: 20,
    default: 2,
    about: 'Collection workers that serve a collection at the same time, if the pool of its tenant has as many.',
  }),
  workerHeartbeatMs: milliseconds('DROVER_WORKER_HEARTBEAT_MS', {
    min: 100,
    max: 600_000,
    default: 15_000,
    about: 'How often collection workers send heartbeats.',
  }),
  workerStaleMs: milliseconds('DROVER_WORKER_STALE_MS', {
    min: 500,
    max: 3_600_000,
    default: 45_000,
    about:
      'A collection worker without a heartbeat for this long is `OFFLINE`: others get its collections. Should be three times `DROVER_WORKER_HEARTBEAT_MS`.',
  }),
};
