import { defineError } from '@drover/contracts';

export const dataDirectoryUnusable = defineError<{ directory: string; reason: string }>('DATA_DIRECTORY_UNUSABLE', {
  fault: 'caller',
  retryable: false,
  status: 503,
  message: (d) =>
    `cannot keep data in ${d.directory}: ${d.reason}; make it writable for this user, or choose another with --data-dir`,
  help: 'Give the user that runs Drover the right to write there, or choose another directory with `--data-dir`.',
});

export const dataDirectoryFull = defineError<{ directory: string }>('DATA_DIRECTORY_FULL', {
  fault: 'platform',
  retryable: true,
  status: 507,
  message: (d) => `no room left on the disk of ${d.directory}; free some, or choose another disk with --data-dir`,
  help: 'Free disk space (an empty database takes about 50 MB), or choose another disk with `--data-dir`.',
});

export const dataDirectoryInUse = defineError<{ directory: string; owner: string }>('DATA_DIRECTORY_IN_USE', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `${d.directory} is in use by another "drover up" (${d.owner}); use that one, stop it, or choose another with --data-dir`,
  help: 'One data directory serves one `drover up`: use the one that runs, stop it, or choose another directory.',
});

export const roleFailed = defineError<{ role: string; reason: string }>('ROLE_FAILED', {
  fault: 'platform',
  retryable: false,
  status: 503,
  message: (d) => `${d.role} did not start: ${d.reason}`,
  help: 'The message has the reason; the log of that process is in `logs/` of the data directory.',
});

export const credentialsMissing = defineError<{ file: string }>('CREDENTIALS_MISSING', {
  fault: 'caller',
  retryable: false,
  status: 401,
  message: (d) =>
    `there is no ${d.file}; start "drover up" here, name its directory with --data-dir, or set DROVER_URL and DROVER_API_KEY`,
  help: 'Commands find the platform through `credentials.json` of its data directory, or `DROVER_URL` and `DROVER_API_KEY`.',
});

export const upErrors = {
  dataDirectoryUnusable,
  dataDirectoryFull,
  dataDirectoryInUse,
  roleFailed,
  credentialsMissing,
};
