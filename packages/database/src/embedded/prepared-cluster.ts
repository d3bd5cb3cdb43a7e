import { createHash } from 'node:crypto';
import type { Leash, Observe, Randomness } from '@drover/service-kit';
import { Secret, type Clock } from '@drover/service-kit';
import { findBinaries, type Binaries } from './binaries.js';
import { checkVersion, createCluster, databaseUser, removeDrafts } from './cluster.js';
import { exists } from './durable-files.js';
import { onFiles } from './file-faults.js';
import { endOrphanedServer } from './orphaned-server.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import { claimDirectory } from './owner.js';
import { makePassword, readPassword } from './password.js';
import { locateCluster, writePointer, type ClusterLocation } from './cluster-location.js';
import { removeOldCopies, runnableBinaries } from './runnable-binaries.js';
import { serverPort } from './settings.js';
import { makeSocketDirectory, removeSocketDirectory } from './socket-directory.js';

export interface EmbeddedPostgresIo {
  readonly leash: Leash;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EmbeddedPostgresObservation>;
}

/** What a server needs before it starts: a complete cluster owned by this process, runnable programs, a socket directory. */
export interface PreparedCluster {
  readonly location: ClusterLocation;
  readonly clusterName: string;
  /** Directory with bin/postgres. */
  readonly programs: string;
  readonly version: string;
  readonly socketDirectory: string;
  readonly password: string;
  readonly url: Secret;
  /** Releases the directory. The server must have exited. */
  release(): Promise<void>;
}

export interface PrepareClusterOptions {
  readonly directory: string;
  readonly serverUser: string | undefined;
}

/** Claims the directory and prepares the cluster. Releases the directory if it fails or `signal` aborts. */
export async function prepareCluster(
  options: PrepareClusterOptions,
  io: EmbeddedPostgresIo,
  signal: AbortSignal,
): Promise<PreparedCluster> {
  signal.throwIfAborted();
  const binaries = findBinaries();
  const location = await locateCluster(options.directory, options.serverUser);
  if (location.movedBecause !== undefined) {
    io.observe({ kind: 'postgres.moved', from: location.directory, to: location.base, reason: location.movedBecause });
  }
  return onFiles(location.base, async () => {
    const releaseDirectory = await claimDirectory(location.base, io.randomness);
    const release = async (): Promise<void> => {
      await removeSocketDirectory(location);
      await releaseDirectory();
    };
    try {
      return { ...(await prepareClaimed(location, binaries, io, signal)), release };
    } catch (error) {
      await release();
      throw error;
    }
  });
}

async function prepareClaimed(
  location: ClusterLocation,
  binaries: Binaries,
  io: EmbeddedPostgresIo,
  signal: AbortSignal,
): Promise<Omit<PreparedCluster, 'release'>> {
  const clusterName = `drover-${createHash('sha256').update(location.cluster).digest('hex').slice(0, 12)}`;
  const isExisting = await exists(location.cluster);
  if (isExisting) await endOrphanedServer({ cluster: location.cluster, clusterName, ...io, signal });
  await removeDrafts(location);
  await removeOldCopies(location.base, binaries);
  signal.throwIfAborted();
  const programs = await runnableBinaries({ binaries, user: location.user, base: location.base, ...io });
  signal.throwIfAborted();
  if (isExisting) {
    await checkVersion(location, binaries.major);
  } else {
    io.observe({ kind: 'postgres.creating-cluster', cluster: location.cluster });
    const password = await makePassword(location, io.randomness);
    await createCluster({ location, binaries: programs, password, ...io, signal });
  }
  await writePointer(location);
  const password = await readPassword(location);
  const socketDirectory = await makeSocketDirectory(location);
  const url = urlOf(socketDirectory, password);
  return { location, clusterName, programs, version: binaries.version, socketDirectory, password, url };
}

/** URL parsers require a host; drivers use the socket directory of the `host` parameter instead. */
function urlOf(socketDirectory: string, password: string): Secret {
  const query = `host=${encodeURIComponent(socketDirectory)}&sslmode=disable`;
  return new Secret(`postgres://${databaseUser}:${password}@localhost:${serverPort}/${databaseUser}?${query}`);
}
