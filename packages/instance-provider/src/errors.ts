import { defineError } from '@drover/contracts';

export const instanceFenced = defineError<{ token: number; highest: number }>('INSTANCE_FENCED', {
  fault: 'platform',
  retryable: false,
  status: 409,
  message: (d) =>
    `The fencing token ${d.token} is lower than ${d.highest}: another scale controller leads. Stop acting and wait for the lease.`,
  help: 'A scale controller that no longer leads, because it was paused or cut off, tried to start or end an instance. Nothing was changed; it gives up its leadership by itself.',
});

export const instanceRefused = defineError<{ instanceId: string; reason: string }>('INSTANCE_REFUSED', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) => `The instance ${d.instanceId} was not started: ${d.reason}`,
  help: 'The provider of instances cannot start this one: its description is not valid, no program is configured for its role, or the limit of instances is reached. The message has the reason.',
});

export const instanceHostLost = defineError<{ reason: string }>('INSTANCE_HOST_LOST', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `The host of instances did not answer: ${d.reason}. List the instances again when it is back.`,
  help: 'The process that starts instances ended before it answered. Whether the instance was started or ended is not known until the instances are listed again.',
});

export const instanceErrors = { instanceFenced, instanceRefused, instanceHostLost };
