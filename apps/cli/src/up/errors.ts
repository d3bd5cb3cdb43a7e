import { defineError } from '@drover/contracts';

export const dataDirectoryUnusable = defineError<{ directory: string; reason: string }>('DATA_DIRECTORY_UNUSABLE', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `The data directory ${d.directory} cannot be used: ${d.reason}. Make it writable for this user, or choose another with --data-dir.`,
  help: 'The user that runs Drover cannot write to the data directory. Grant write permission, or choose another directory with `--data-dir`.',
});

export const dataDirectoryFull = defineError<{ directory: string }>('DATA_DIRECTORY_FULL', {
  fault: 'platform',
  retryable: true,
  status: 507,
  message: (d) => `The disk of ${d.directory} is full. Free disk space, or choose another disk with --data-dir.`,
  help: 'The disk of the data directory is full. Free disk space (an empty database needs about 50 MB), or choose another disk with `--data-dir`.',
});

export const dataDirectoryInUse = defineError<{ directory: string; owner: string }>('DATA_DIRECTORY_IN_USE', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `The data directory ${d.directory} is in use by another "drover up" (${d.owner}). Use that one, stop it, or choose another directory with --data-dir.`,
  help: 'A data directory serves one `drover up` at a time. Use the running one, stop it, or choose another directory.',
});

export const roleFailed = defineError<{ role: string; reason: string }>('ROLE_FAILED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `The process ${d.role} did not start: ${d.reason}. Its log is logs/${d.role}.log in the data directory.`,
  help: 'A process of `drover up` exited during its start, several times in a row. Read the reason in the message and the log of the process in `logs/` of the data directory.',
});

export const credentialsMissing = defineError<{ file: string }>('CREDENTIALS_MISSING', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: (d) =>
    `The credentials file ${d.file} does not exist. Start "drover up" here, name its directory with --data-dir, or set DROVER_URL and DROVER_API_KEY.`,
  help: 'Commands find the platform through `credentials.json` in its data directory, or through `DROVER_URL` and `DROVER_API_KEY`. Start `drover up`, or name one of the two.',
});

export const upErrors = {
  dataDirectoryUnusable,
  dataDirectoryFull,
  dataDirectoryInUse,
  roleFailed,
  credentialsMissing,
};
