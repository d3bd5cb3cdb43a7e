import { defineStates } from '@drover/contracts';

/**
 * A function worker as the scale controller places it.
 * - starting: its process was asked for; it has not connected to its runtime yet
 * - placeholder: connected, without an application
 * - specializing: it loads an application
 * - ready: it serves
 * - lost: its process runs, but its runtime does not know it (any more): it may reconnect for a while
 * - draining: it finishes its invocations
 * - ending: its process was told to end
 * - gone: its process has ended
 */
export const placedWorkerStates = defineStates('placed worker', {
  starting: ['placeholder', 'specializing', 'ready', 'lost', 'ending', 'gone'],
  placeholder: ['specializing', 'lost', 'draining', 'ending', 'gone'],
  specializing: ['ready', 'lost', 'draining', 'ending', 'gone'],
  ready: ['lost', 'draining', 'ending', 'gone'],
  lost: ['placeholder', 'specializing', 'ready', 'draining', 'ending', 'gone'],
  draining: ['ending', 'gone'],
  ending: ['gone'],
  gone: [],
});

export type PlacedWorkerState = (typeof placedWorkerStates.all)[number];
