import { defineStates } from '@drover/contracts';

/**
 * - created: its functions are indexed
 * - starting: its listeners start
 * - running: its listeners receive events
 * - failed: a listener broke; the job host is being replaced
 * - stopping: its listeners stop
 * - stopped: all resources are released
 */
export const jobHostStates = defineStates('job host', {
  created: ['starting', 'stopping'],
  starting: ['running', 'failed', 'stopping'],
  running: ['failed', 'stopping'],
  failed: ['stopping'],
  stopping: ['stopped'],
  stopped: [],
});
