import { defineStates } from '@drover/contracts';

/**
 * - initializing: its stream is open and WorkerInitRequest was sent
 * - placeholder: initialized, without an application
 * - specializing: it loads the environment and the code of an application
 * - specialized: it has the code; its job host is opened and its functions are loaded
 * - ready: it receives invocations
 * - unhealthy: it receives none for now: its stream is full, or its job host failed
 * - draining: it finishes its invocations and is then told to end
 * - abandoned: ended without a drain; stays registered for a while, so that late messages are recognized
 * - disconnected: its stream has ended
 */
export const functionWorkerStates = defineStates('function worker', {
  initializing: ['placeholder', 'specializing', 'specialized', 'draining', 'abandoned', 'disconnected'],
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
