import { defineStates } from '@drover/contracts';

/**
 * States of a collection worker. It registers (STARTING) and gets collections once it says that it is READY. DRAINING: its collections
 * move away, and it serves them until they have; OFFLINE: no heartbeat has come for too long; FAILED: it said that it cannot serve.
 * A worker that registers again starts anew, whatever it was.
 */
export const collectionWorkerStates = defineStates('collection-worker', {
  STARTING: ['STARTING', 'READY', 'DRAINING', 'OFFLINE', 'FAILED'],
  READY: ['STARTING', 'DRAINING', 'OFFLINE', 'FAILED'],
  DRAINING: ['STARTING', 'OFFLINE', 'FAILED'],
  OFFLINE: ['STARTING', 'READY', 'DRAINING', 'FAILED'], // a heartbeat that comes after all
  FAILED: ['STARTING', 'READY', 'DRAINING', 'OFFLINE'],
});

/** States of one collection on one worker. The control plane orders PENDING and DRAINING; the worker reports the others. */
export const assignmentStates = defineStates('collection-assignment', {
  PENDING: ['PENDING', 'INITIALIZING', 'READY', 'DRAINING', 'REMOVED'],
  INITIALIZING: ['PENDING', 'READY', 'DRAINING', 'REMOVED'],
  READY: ['PENDING', 'DRAINING', 'REMOVED'], // PENDING: its worker was started again
  DRAINING: ['PENDING', 'REMOVED'], // PENDING: it is needed again
  REMOVED: ['PENDING'],
});
