import { defineStates } from '@drover/contracts';

/**
 * - created: its functions are known
 * - starting: its listeners are being started
 * - running: events come in
 * - failed: a listener broke; it is being replaced
 * - stopping: nothing new comes in, what runs is finished
 * - stopped: all is let go
 */
export const jobHostStates = defineStates('job host', {
  created: ['starting', 'stopping'],
  starting: ['running', 'failed', 'stopping'],
  running: ['failed', 'stopping'],
  failed: ['stopping'],
  stopping: ['stopped'],
  stopped: [],
});
