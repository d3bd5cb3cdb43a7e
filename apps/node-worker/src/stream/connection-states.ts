/**
 * - `dialing`: the first connection is being made
 * - `connected`: there is a stream, and StartStream was sent on it
 * - `reconnecting`: the stream was lost, the host takes workers back, and the time for that is not over
 * - `closing`: the worker itself ends the stream, for good
 * - `ended`: there is no stream and will be none
 */
export const connectionStates = {
  dialing: ['connected', 'reconnecting', 'closing', 'ended'],
  connected: ['reconnecting', 'closing', 'ended'],
  reconnecting: ['connected', 'closing', 'ended'],
  closing: ['ended'],
  ended: [],
} as const satisfies Record<string, readonly string[]>;

export type ConnectionState = keyof typeof connectionStates;

/** True where the table allows the step. */
export function mayMove(from: ConnectionState, to: ConnectionState): boolean {
  const allowed: readonly string[] = connectionStates[from];
  return allowed.includes(to);
}

/** A worker is live while it has a stream or may still get one. */
export function isLive(state: ConnectionState): boolean {
  return state !== 'ended';
}
