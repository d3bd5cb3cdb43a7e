import { defineStates } from '@drover/contracts';

/**
 * - `dialing`: the first connection is being opened
 * - `connected`: a stream is open, and StartStream was sent on it
 * - `reconnecting`: the stream was lost, the host accepts returning workers, and the time limit has not passed
 * - `closing`: this worker ends the stream and does not reconnect
 * - `ended`: no stream is open, and none will be opened
 */
export const hostConnectionStates = defineStates('host connection', {
  dialing: ['connected', 'closing', 'ended'],
  connected: ['reconnecting', 'closing', 'ended'],
  reconnecting: ['connected', 'closing', 'ended'],
  closing: ['ended'],
  ended: [],
});

export type HostConnectionState = (typeof hostConnectionStates.all)[number];
