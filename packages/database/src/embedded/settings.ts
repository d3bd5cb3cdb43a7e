/** The whole environment of the server: no PG… variable and no secret of this process. */
export const serverEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** Only names the socket file: no TCP port is open. */
export const serverPort = 5432;

const megabyte = 1024 * 1024;

/** Returns an eighth of the memory, between 16 and 128 MB. */
export function sharedBuffers(memoryBytes: number): string {
  return `${Math.min(128, Math.max(16, Math.floor(memoryBytes / 8 / megabyte)))}MB`;
}

/**
 * Returns how a server that was killed brings its files to disk before it recovers: one call for the file system instead of one for each
 * of its thousand files, which took 3 to 4 of 6 seconds. Linux reports failed writes there since 5.8; other systems do not have it.
 */
export function recoverySync({ platform, release }: ServerSettings['system']): 'syncfs' | 'fsync' {
  const [major = 0, minor = 0] = release.split('.').map(Number);
  return platform === 'linux' && (major > 5 || (major === 5 && minor >= 8)) ? 'syncfs' : 'fsync';
}

export interface ServerSettings {
  readonly cluster: string;
  readonly clusterName: string;
  readonly socketDirectory: string;
  readonly memoryBytes: number;
  /** Of the machine, as Node.js names them. */
  readonly system: { readonly platform: string; readonly release: string };
  /** Settings of the caller; they override the defaults but not the settings that this folder relies on. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Returns the server's command line. All users of the machine can read it, so it must not contain secrets. */
export function serverArguments(options: ServerSettings): readonly string[] {
  const settings: Readonly<Record<string, string>> = {
    max_connections: '200',
    shared_buffers: sharedBuffers(options.memoryBytes),
    fsync: 'on',
    recovery_init_sync_method: recoverySync(options.system),
    synchronous_commit: 'on',
    // There is no replication; crash recovery needs no more than this.
    wal_level: 'minimal',
    max_wal_senders: '0',
    max_logical_replication_workers: '0',
    autovacuum: 'on',
    jit: 'off', // statements are short: compiling them costs more than it saves
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] ',
    log_checkpoints: 'off',
    log_min_messages: 'warning',
    log_min_error_statement: 'panic', // statements contain customer data; the client receives the error
    ...options.settings,
    listen_addresses: '',
    port: String(serverPort),
    unix_socket_directories: `"${options.socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    cluster_name: options.clusterName,
    logging_collector: 'off',
    log_destination: 'stderr',
    lc_messages: 'C', // the log is parsed
  };
  return ['-D', options.cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}
