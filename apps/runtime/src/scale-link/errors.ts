import { defineError } from '@drover/contracts';

export const commandFenced = defineError<{ token: number; highest: number }>('SCALE_LINK_FENCED', {
  fault: 'platform',
  retryable: false,
  status: 409,
  help: 'A scale controller that does not lead any more sent a command: another one has taken over with a higher fencing token. It must stop acting; nothing was done.',
  message: (d) =>
    `The fencing token ${d.token} is lower than ${d.highest}, which this runtime has seen. Another scale controller leads.`,
});

export const linkedWorkerUnknown = defineError<{ workerId: string }>('SCALE_LINK_WORKER_UNKNOWN', {
  fault: 'platform',
  retryable: false,
  status: 404,
  help: 'The scale controller sent a command for a function worker that is not connected to this runtime (any more). It starts another one.',
  message: (d) => `Function worker ${d.workerId} is not connected to this runtime. Start another one.`,
});

export const linkedWorkerTaken = defineError<{ workerId: string; state: string; versionKey: string | undefined }>(
  'SCALE_LINK_WORKER_TAKEN',
  {
    fault: 'platform',
    retryable: false,
    status: 409,
    help: 'The scale controller wanted to give an application to a function worker that is no placeholder: it has had one, and is never given to another.',
    message: (d) =>
      `Function worker ${d.workerId} is ${d.state}${d.versionKey === undefined ? '' : ` with ${d.versionKey}`}, not a placeholder. Use another one.`,
  },
);

export const versionNotHosted = defineError<{ versionKey: string }>('SCALE_LINK_VERSION_NOT_HOSTED', {
  fault: 'platform',
  retryable: true,
  status: 404,
  help: 'The scale controller wanted a function worker for a version that this runtime does not host. It sends the application first.',
  message: (d) => `This runtime does not host ${d.versionKey}. Send its application first.`,
});

export const scaleLinkCommandErrors = {
  commandFenced,
  linkedWorkerUnknown,
  linkedWorkerTaken,
  versionNotHosted,
};
