import { integer, milliseconds, oneOf } from '@drover/service-kit';

/** What the mode REMOTE is told from outside. */
export const remoteVariables = {
  jobRunner: oneOf('DROVER_JOB_RUNNER', ['off', 'process'], {
    default: 'off',
    about:
      'What runs the jobs of functions in the mode REMOTE. `process` starts programs on this machine as the user of the control plane: whoever may register functions may then run anything here.',
  }),
  maxJobs: integer('DROVER_MAX_JOBS', {
    min: 1,
    max: 100_000,
    default: 64,
    about: 'Jobs of functions in the mode REMOTE at the same time, of all functions together.',
  }),
  jobGraceMs: milliseconds('DROVER_JOB_GRACE_MS', {
    max: 600_000,
    default: 5_000,
    about: 'How long a job may take to end after it was asked to, before it is killed.',
  }),
};
