import { defineStates } from '@drover/contracts';

/**
 * - stopped: no process of ours runs, nothing is claimed, and the directory may be used by anybody.
 * - starting: the directory is being claimed and prepared, or the first server has not accepted a connection yet.
 * - ready: the server has accepted a connection and has not exited since.
 * - lost: the server exited without being asked; the URL stands and tries to bring it back go on.
 * - stopping: nothing new is begun; the server is being ended and everything claimed is given back.
 */
export const embeddedPostgresStates = defineStates('embedded PostgreSQL', {
  stopped: ['starting'],
  starting: ['ready', 'stopping'],
  ready: ['lost', 'stopping'],
  lost: ['ready', 'stopping'],
  stopping: ['stopped'],
});
