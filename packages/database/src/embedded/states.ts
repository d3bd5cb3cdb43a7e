import { defineStates } from '@drover/contracts';

/**
 * - stopped: no server runs and the directory is not claimed
 * - starting: the directory is being claimed and prepared, or the first server has not accepted a connection yet
 * - ready: the server has accepted a connection and has not exited since
 * - lost: the server exited unexpectedly; the URL stays valid and restarts are attempted
 * - stopping: the server is shutting down and the directory is being released
 */
export const embeddedPostgresStates = defineStates('embedded PostgreSQL', {
  stopped: ['starting'],
  starting: ['ready', 'stopping'],
  ready: ['lost', 'stopping'],
  lost: ['ready', 'stopping'],
  stopping: ['stopped'],
});
