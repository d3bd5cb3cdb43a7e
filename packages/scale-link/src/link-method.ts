import type { StreamLimits } from '@drover/function-rpc';

/** The one method of the service. */
export const attachMethod = '/drover.scale.v1.ScaleLink/Attach';

const mebibyte = 1_048_576;

/**
 * A `host` command carries the functions of all versions of an application, an `attach` the state of all workers: a few
 * hundred bytes for each. The token was checked before the first message, so the limit is the same for all messages.
 */
export const linkLimits: StreamLimits = {
  maxMessageBytes: 16 * mebibyte,
  fullBytes: mebibyte,
  // Commands and worker states are never dropped: a peer that does not read them loses its stream and attaches again.
  maxQueuedBytes: 64 * mebibyte,
};

/** Returns the metadata that authenticates a runtime. */
export function authorizationOf(token: string): string {
  return `Bearer ${token}`;
}
