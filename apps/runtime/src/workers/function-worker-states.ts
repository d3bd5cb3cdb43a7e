import { defineStates } from '@drover/contracts';

/**
 * - initializing: its stream is open; it was asked what it can do
 * - placeholder: warm, and nobody's
 * - specializing: it is being given an application
 * - specialized: it has the application's code; functions are being loaded
 * - ready: it takes invocations
 * - unhealthy: it takes none for now (it does not read, or its job host failed)
 * - draining: it finishes what it has, then it is ended
 * - abandoned: given up without waiting for it; kept for a while so that what still comes from it is known
 * - disconnected: its stream is gone
 */
export const functionWorkerStates = defineStates('function worker', {
  initializing: ['placeholder', 'specialized', 'draining', 'abandoned', 'disconnected'],
  placeholder: ['specializing', 'draining', 'abandoned', 'disconnected'],
  specializing: ['specialized', 'abandoned', 'disconnected'],
  specialized: ['ready', 'draining', 'abandoned', 'disconnected'],
  ready: ['unhealthy', 'draining', 'abandoned', 'disconnected'],
  unhealthy: ['ready', 'draining', 'abandoned', 'disconnected'],
  draining: ['abandoned', 'disconnected'],
  abandoned: ['disconnected'],
  disconnected: [],
});

export type FunctionWorkerState = (typeof functionWorkerStates.all)[number];
