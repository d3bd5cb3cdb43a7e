/** All that the server sees of our environment: no PG… variable and no secret of ours gets through. */
export const serverEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** PostgreSQL names its socket after its port; with no port open, any number will do. */
export const serverPort = 5432;

const megabyte = 1024 * 1024;

/** An eighth of the memory, between what is needed at all and what is enough for one machine. */
export function sharedBuffers(memoryBytes: number): string {
  return `${Math.min(128, Math.max(16, Math.floor(memoryBytes / 8 / megabyte)))}MB`;
}

export interface ServerSettings {
  readonly cluster: string;
  readonly clusterName: string;
  readonly socketDirectory: string;
  readonly memoryBytes: number;
  /** The caller's own, which outrank our choices but not what the rest of this folder relies on. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The server's command line. It can be read by everybody on the machine, so no secret may go in. */
export function serverArguments(options: ServerSettings): readonly string[] {
  const settings: Readonly<Record<string, string>> = {
    max_connections: '200',
    shared_buffers: sharedBuffers(options.memoryBytes),
    fsync: 'on',
    synchronous_commit: 'on',
    // Nobody replicates from this server; crash recovery needs no more than this.
    wal_level: 'minimal',
    max_wal_senders: '0',
    max_logical_replication_workers: '0',
    autovacuum: 'on',
    jit: 'off', // short statements only: compiling them costs more than it saves
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] ',
    log_checkpoints: 'off',
    log_min_messages: 'warning',
    log_min_error_statement: 'panic', // statements carry customers' data; whoever sent one gets the error
    ...options.settings,
    listen_addresses: '',
    port: String(serverPort),
    unix_socket_directories: `"${options.socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    cluster_name: options.clusterName,
    logging_collector: 'off',
    log_destination: 'stderr',
    lc_messages: 'C', // we read the log
  };
  return ['-D', options.cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}
