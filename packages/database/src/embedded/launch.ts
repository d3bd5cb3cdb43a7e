import { statfs, type FileHandle } from 'node:fs/promises';
import { release, totalmem } from 'node:os';
import { BackOff } from '@drover/service-kit';
import { databaseUser } from './cluster.js';
import { diskFull, passwordLost, startFailed } from './errors.js';
import { explainExit, isMemoryInUse } from './explain-exit.js';
import { errnoOf, onFiles } from './file-faults.js';
import { endOrphanedServer, quitOrphanedChildren } from './orphaned-server.js';
import { passwordFile } from './password.js';
import { Postmaster, type PostmasterOptions } from './postmaster.js';
import { untilReady } from './readiness.js';
import { ServerLog } from './server-log.js';
import { serverArguments } from './settings.js';
import type { PreparedCluster, EmbeddedPostgresIo } from './prepared-cluster.js';
import { clearSocket } from './socket-directory.js';

export interface LaunchOptions {
  readonly prepared: PreparedCluster;
  readonly settings: Readonly<Record<string, string>>;
  readonly io: EmbeddedPostgresIo;
  readonly signal: AbortSignal;
}

/** Starts a server and resolves when it accepts connections. No process remains if it throws. */
export async function launch(options: LaunchOptions): Promise<Postmaster> {
  const { prepared, io, signal } = options;
  const { cluster } = prepared.location;
  const reported = new Set<string>();
  const reportOnce = (kind: 'postgres.recovering' | 'postgres.waiting'): void => {
    if (!reported.has(kind)) io.observe({ kind, cluster });
    reported.add(kind);
  };
  io.observe({ kind: 'postgres.starting', cluster, version: prepared.version });
  const backOff = new BackOff({ firstMs: 50, maxMs: 1000, factor: 2 }, io);
  for (;;) {
    const postmaster = await attempt(options, () => reportOnce('postgres.recovering'));
    if (postmaster) return postmaster;
    reportOnce('postgres.waiting');
    quitOrphanedChildren(prepared.clusterName);
    await backOff.wait(signal);
  }
}

/** Runs one attempt. Returns undefined if processes of the previous server still block the cluster. */
async function attempt(options: LaunchOptions, onRecovering: () => void): Promise<Postmaster | undefined> {
  const { prepared, settings, io, signal } = options;
  const { location, clusterName, socketDirectory, password } = prepared;
  const { cluster, user } = location;
  if (await endOrphanedServer({ cluster, clusterName, ...io, signal })) onRecovering();
  await clearSocket(socketDirectory);
  const log = new ServerLog(location.directory);
  const { handle, offset } = await onFiles(log.file, () => log.open());
  const args = serverArguments({
    cluster,
    clusterName,
    socketDirectory,
    settings,
    memoryBytes: memoryBytes(),
    system: { platform: process.platform, release: release() },
  });
  const postmaster = await spawnWith(handle, { binaries: prepared.programs, args, user, ...io });
  try {
    const ready = await untilReady({
      address: { socketDirectory, password, user: databaseUser, database: databaseUser },
      hasExited: () => postmaster.exit !== undefined,
      onStarting: async () => {
        if (/was interrupted|automatic recovery in progress/.test(await log.since(offset))) onRecovering();
      },
      clock: io.clock,
      signal,
    });
    if (ready) return postmaster;
  } catch (error) {
    await postmaster.end();
    signal.throwIfAborted();
    throw explainRefusal(prepared, log.file, error);
  }
  const written = await log.since(offset);
  if (isMemoryInUse(written)) return undefined;
  const { bavail, bsize } = await statfs(location.base);
  const exit = await postmaster.exited;
  throw explainExit({ exit, logFile: log.file, written, path: location.base, freeBytes: bavail * bsize });
}

/** Closes the log after the spawn: the server has its own descriptor by then. */
async function spawnWith(log: FileHandle, options: Omit<PostmasterOptions, 'log'>): Promise<Postmaster> {
  try {
    return await Postmaster.spawn({ ...options, log });
  } finally {
    await log.close();
  }
}

function explainRefusal({ location }: PreparedCluster, log: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  if (errnoOf(error)?.startsWith('28')) {
    const facts = { file: passwordFile(location), cluster: location.cluster };
    return passwordLost({ ...facts, reason: `does not contain its password (${reason})` }, error);
  }
  if (errnoOf(error) === '53100' || reason.includes('No space left')) return diskFull({ path: location.base }, error);
  return startFailed({ log, exit: 'it rejects connections', lines: reason }, error);
}

/** Memory available to this process: that of the machine, or the limit of a container. */
function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
