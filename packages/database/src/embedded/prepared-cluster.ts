import { createHash } from 'node:crypto';
import type { Leash, Observe, Randomness } from '@drover/service-kit';
import { Secret, type Clock } from '@drover/service-kit';
import { findBinaries, type Binaries } from './binaries.js';
import { checkVersion, createCluster, databaseUser, removeDrafts } from './cluster.js';
import { isThere } from './durable-files.js';
import { onFiles } from './file-faults.js';
import { endLeftBehind } from './left-behind.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import { claimHome } from './owner.js';
import { makePassword, readPassword } from './password.js';
import { choosePlace, leavePointer, type Place } from './place.js';
import { removeOldCopies, runnableBinaries } from './runnable-binaries.js';
import { serverPort } from './settings.js';
import { makeSocketDirectory, removeSocketDirectory } from './socket-directory.js';

export interface SiteIo {
  readonly leash: Leash;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EmbeddedPostgresObservation>;
}

/** All a server needs before it runs: a whole cluster, claimed by us, programs that run, and a place for its socket. */
export interface Site {
  readonly place: Place;
  readonly clusterName: string;
  /** Holds bin/postgres. */
  readonly programs: string;
  readonly version: string;
  readonly socketDirectory: string;
  readonly password: string;
  readonly url: Secret;
  /** Gives the directory back. No server may run. */
  leave(): Promise<void>;
}

export interface SiteOptions {
  readonly directory: string;
  readonly serverUser: string | undefined;
}

/** Claims the directory and prepares everything; leaves nothing claimed when that fails or the signal aborts. */
export async function prepareSite(options: SiteOptions, io: SiteIo, signal: AbortSignal): Promise<Site> {
  signal.throwIfAborted();
  const binaries = findBinaries();
  const place = await choosePlace(options.directory, options.serverUser);
  if (place.movedBecause !== undefined) {
    io.observe({ kind: 'postgres.moved', from: place.directory, to: place.home, reason: place.movedBecause });
  }
  return onFiles(place.home, async () => {
    const release = await claimHome(place.home, io.randomness);
    const leave = async (): Promise<void> => {
      await removeSocketDirectory(place);
      await release();
    };
    try {
      return { ...(await prepareClaimed(place, binaries, io, signal)), leave };
    } catch (error) {
      await leave();
      throw error;
    }
  });
}

async function prepareClaimed(
  place: Place,
  binaries: Binaries,
  io: SiteIo,
  signal: AbortSignal,
): Promise<Omit<Site, 'leave'>> {
  const clusterName = `drover-${createHash('sha256').update(place.cluster).digest('hex').slice(0, 12)}`;
  const exists = await isThere(place.cluster);
  if (exists) await endLeftBehind({ cluster: place.cluster, clusterName, ...io, signal });
  await removeDrafts(place);
  await removeOldCopies(place.home, binaries);
  signal.throwIfAborted();
  const programs = await runnableBinaries({ binaries, user: place.user, home: place.home, ...io });
  signal.throwIfAborted();
  if (exists) {
    await checkVersion(place, binaries.major);
  } else {
    io.observe({ kind: 'postgres.creating-cluster', cluster: place.cluster });
    const password = await makePassword(place, io.randomness);
    await createCluster({ place, binaries: programs, password, ...io, signal });
  }
  await leavePointer(place);
  const password = await readPassword(place);
  const socketDirectory = await makeSocketDirectory(place);
  const url = urlOf(socketDirectory, password);
  return { place, clusterName, programs, version: binaries.version, socketDirectory, password, url };
}

/** A host stands in the URL for those who parse it; every driver takes the socket's directory instead. */
function urlOf(socketDirectory: string, password: string): Secret {
  const query = `host=${encodeURIComponent(socketDirectory)}&sslmode=disable`;
  return new Secret(`postgres://${databaseUser}:${password}@localhost:${serverPort}/${databaseUser}?${query}`);
}
