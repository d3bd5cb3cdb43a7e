import { defineError } from '@drover/contracts';

export const ownerUnreachable = defineError<{ url: string; reason: string }>('HOME_UNREACHABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `The replica at ${d.url}, which owns this function, cannot be reached: ${d.reason}. Try again; if the replica is running, check its DROVER_REPLICA_URL.`,
  help: 'The replica that owns this function is unreachable. Another replica takes over within seconds: try again. If the error persists, check that replicas reach each other at `DROVER_REPLICA_URL`.',
});

export const ownerConnectionLost = defineError<{ url: string; reason: string }>('HOME_BROKE_OFF', {
  fault: 'platform',
  retryable: false,
  status: 502,
  message: (d) =>
    `The connection to the replica at ${d.url} broke before it answered: ${d.reason}. Check whether the execution was accepted before you send it again.`,
  help: 'The connection to the replica that owns this function broke while it processed the request, so whether the execution began is unknown. Look for the execution, or repeat the request with the same `Idempotency-Key`.',
});

export const replicaErrors = { ownerUnreachable, ownerConnectionLost };
