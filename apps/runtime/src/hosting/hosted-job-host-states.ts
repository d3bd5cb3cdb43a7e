import { defineStates } from '@drover/contracts';

/**
 * - parked: it has routes and watched triggers, but no job host and no worker
 * - opening: its job host is created from the stored index, and its listeners start
 * - open: its job host runs, with or without workers; it is parked at once if its job host failed and could not be replaced
 * - closing: its job host drains and stops
 * - removed: its application or its versions were removed
 */
export const hostedJobHostStates = defineStates('hosted job host', {
  parked: ['opening', 'removed'],
  opening: ['open', 'closing', 'parked'],
  open: ['closing', 'parked'],
  closing: ['parked'],
  removed: [],
});
