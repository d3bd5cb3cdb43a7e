import { defineError } from '@drover/contracts';

export const homeUnreachable = defineError<{ url: string; reason: string }>('HOME_UNREACHABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `the replica at ${d.url}, which has this function, cannot be reached: ${d.reason}; if it lives, check DROVER_REPLICA_URL there`,
  help: 'The replica that has this function is away. Another one takes over within seconds: try again. If it lasts, check that replicas reach each other at `DROVER_REPLICA_URL`.',
});

export const homeBrokeOff = defineError<{ url: string; reason: string }>('HOME_BROKE_OFF', {
  fault: 'platform',
  retryable: false,
  status: 502,
  message: (d) =>
    `the replica at ${d.url} went away before it answered: ${d.reason}; look whether the execution was accepted before you send it again`,
  help: 'The replica that has this function went away while it had the request. Whether it began is not known: look for the execution, or repeat the request with the same `Idempotency-Key`.',
});

export const homeErrors = { homeUnreachable, homeBrokeOff };
