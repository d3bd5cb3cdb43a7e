import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Observe } from '@drover/service-kit';
import { exists, readIfExists } from './durable-files.js';
import { endServer } from './end-server.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import { commandLineOf, pidExists, processesNamed, signalProcess } from './processes.js';

export interface OrphanedServerOptions {
  readonly cluster: string;
  /** Part of the postmaster's command line and of the process title of all its children. */
  readonly clusterName: string;
  readonly clock: Clock;
  readonly observe: Observe<EmbeddedPostgresObservation>;
  readonly signal: AbortSignal;
}

/**
 * Ends the postmaster of an earlier run on this cluster. The pid in postmaster.pid may have been reused, so only a process with
 * the cluster's name counts. For any other process the file is removed, because PostgreSQL would mistake it for a server.
 * Returns true if the cluster has to recover from its log.
 */
export async function endOrphanedServer(options: OrphanedServerOptions): Promise<boolean> {
  const file = path.join(options.cluster, 'postmaster.pid');
  const pid = parsePid((await readIfExists(file)) ?? '');
  if (pid === undefined) return false;
  if (await isServer(pid, options.clusterName)) {
    options.observe({ kind: 'postgres.left-behind', pid });
    const isGone = async (): Promise<boolean> => !(await isServer(pid, options.clusterName));
    await endServer({ pid, isGone, clock: options.clock, signal: options.signal });
    return exists(file); // a clean shutdown removes it
  }
  if (pidExists(pid)) await rm(file, { force: true });
  return true;
}

/** Makes children that outlived their postmaster exit. Idle ones exit by themselves, busy ones do not. */
export function quitOrphanedChildren(clusterName: string): void {
  for (const pid of processesNamed(`postgres: ${clusterName}: `)) signalProcess(pid, 'SIGQUIT');
}

/** Parses the first line of a postmaster.pid. */
export function parsePid(text: string): number | undefined {
  const [, digits] = /^(\d+)\s/.exec(`${text}\n`) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

async function isServer(pid: number, clusterName: string): Promise<boolean> {
  return (await commandLineOf(pid)).includes(`cluster_name=${clusterName}`);
}
