import { defineStates } from '@drover/contracts';

/** A worker that registers again starts anew, whatever it was. */
export const collectionWorkerStates = defineStates('collection-worker', {
  STARTING: ['STARTING', 'READY', 'DRAINING', 'OFFLINE', 'FAILED'],
  READY: ['STARTING', 'DRAINING', 'OFFLINE', 'FAILED'],
  DRAINING: ['STARTING', 'OFFLINE', 'FAILED'],
  OFFLINE: ['STARTING', 'READY', 'DRAINING'], // a heartbeat that comes after all
  FAILED: ['STARTING', 'OFFLINE'],
});

export const assignmentStates = defineStates('collection-assignment', {
  PENDING: ['PENDING', 'INITIALIZING', 'READY', 'DRAINING', 'REMOVED'],
  INITIALIZING: ['PENDING', 'READY', 'DRAINING', 'REMOVED'],
  READY: ['PENDING', 'DRAINING', 'REMOVED'], // PENDING: its worker was started again
  DRAINING: ['REMOVED'],
  REMOVED: ['PENDING'],
});
