import { defineError } from '@drover/contracts';

export const scaleLeadershipLost = defineError<{ token: number }>('SCALE_LEADERSHIP_LOST', {
  fault: 'platform',
  retryable: false,
  status: 409,
  message: (d) =>
    `The fencing token ${d.token} is not the newest: another scale controller leads. Stop acting and wait for the lease.`,
  help: 'A scale controller that no longer leads, because it was paused or cut off, tried to store a change. Nothing was changed; it gives up its leadership by itself.',
});

export const scaleControllerErrors = { scaleLeadershipLost };
