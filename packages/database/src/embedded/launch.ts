import { statfs, type FileHandle } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { BackOff } from '@drover/service-kit';
import { databaseUser } from './cluster.js';
import { diskFull, passwordLost, startFailed } from './errors.js';
import { explainExit, isMemoryInUse } from './explain-exit.js';
import { errnoOf, onFiles } from './file-faults.js';
import { endLeftBehind, quitLeftChildren } from './left-behind.js';
import { passwordFile } from './password.js';
import { Postmaster, type PostmasterOptions } from './postmaster.js';
import { untilReady } from './readiness.js';
import { ServerLog } from './server-log.js';
import { serverArguments } from './settings.js';
import type { Site, SiteIo } from './site.js';
import { clearSocket } from './socket-directory.js';

export interface LaunchOptions {
  readonly site: Site;
  readonly settings: Readonly<Record<string, string>>;
  readonly io: SiteIo;
  readonly signal: AbortSignal;
}

/** Starts a server and resolves when it accepts connections. Whatever it started is gone when this throws. */
export async function launch(options: LaunchOptions): Promise<Postmaster> {
  const { site, io, signal } = options;
  const { cluster } = site.place;
  const said = new Set<string>();
  const sayOnce = (kind: 'postgres.recovering' | 'postgres.waiting'): void => {
    if (!said.has(kind)) io.observe({ kind, cluster });
    said.add(kind);
  };
  io.observe({ kind: 'postgres.starting', cluster, version: site.version });
  const backOff = new BackOff({ firstMs: 50, maxMs: 1000, factor: 2 }, io);
  for (;;) {
    const postmaster = await attempt(options, () => sayOnce('postgres.recovering'));
    if (postmaster) return postmaster;
    sayOnce('postgres.waiting');
    quitLeftChildren(site.clusterName);
    await backOff.wait(signal);
  }
}

/** One try; undefined when processes of the previous server are still in the way. */
async function attempt(options: LaunchOptions, onRecovering: () => void): Promise<Postmaster | undefined> {
  const { site, settings, io, signal } = options;
  const { place, clusterName, socketDirectory, password } = site;
  const { cluster, user } = place;
  if (await endLeftBehind({ cluster, clusterName, ...io, signal })) onRecovering();
  await clearSocket(socketDirectory);
  const log = new ServerLog(place.directory);
  const { handle, offset } = await onFiles(log.file, () => log.open());
  const args = serverArguments({ cluster, clusterName, socketDirectory, settings, memoryBytes: memoryBytes() });
  const postmaster = await spawnWith(handle, { binaries: site.programs, args, user, ...io });
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
    throw explainRefusal(site, log.file, error);
  }
  const written = await log.since(offset);
  if (isMemoryInUse(written)) return undefined;
  const { bavail, bsize } = await statfs(place.home);
  const exit = await postmaster.exited;
  throw explainExit({ exit, logFile: log.file, written, path: place.home, freeBytes: bavail * bsize });
}

/** The server has the log's descriptor of its own once it is spawned. */
async function spawnWith(log: FileHandle, options: Omit<PostmasterOptions, 'log'>): Promise<Postmaster> {
  try {
    return await Postmaster.spawn({ ...options, log });
  } finally {
    await log.close();
  }
}

function explainRefusal({ place }: Site, log: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  if (errnoOf(error)?.startsWith('28')) {
    const facts = { file: passwordFile(place), cluster: place.cluster };
    return passwordLost({ ...facts, reason: `does not hold its password (${reason})` }, error);
  }
  if (errnoOf(error) === '53100' || reason.includes('No space left')) return diskFull({ path: place.home }, error);
  return startFailed({ log, exit: 'it refuses connections', lines: reason }, error);
}

/** What this process may use: the machine's memory, or less inside a container. */
function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
