import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock, Observe } from '@drover/service-kit';
import { isThere, readIfThere } from './durable-files.js';
import { endServer } from './end-server.js';
import type { EmbeddedPostgresObservation } from './observations.js';
import { commandOf, pidExists, processesNamed, signalProcess } from './processes.js';

export interface LeftBehindOptions {
  readonly cluster: string;
  /** Stands in the command line of the cluster's postmaster and in the title of all its children. */
  readonly clusterName: string;
  readonly clock: Clock;
  readonly observe: Observe<EmbeddedPostgresObservation>;
  readonly signal: AbortSignal;
}

/**
 * Ends the postmaster that an earlier owner left on this cluster. Only a process that carries the cluster's name is one:
 * the pid in postmaster.pid may belong to a stranger by now, and then the file goes, since PostgreSQL would take the
 * stranger for a server. Returns whether the cluster has to recover from its log.
 */
export async function endLeftBehind(options: LeftBehindOptions): Promise<boolean> {
  const file = path.join(options.cluster, 'postmaster.pid');
  const pid = parsePid((await readIfThere(file)) ?? '');
  if (pid === undefined) return false;
  if (await isServer(pid, options.clusterName)) {
    options.observe({ kind: 'postgres.left-behind', pid });
    const isGone = async (): Promise<boolean> => !(await isServer(pid, options.clusterName));
    await endServer({ pid, isGone, clock: options.clock, signal: options.signal });
    return isThere(file); // removed by a server that ended in good order
  }
  if (pidExists(pid)) await rm(file, { force: true });
  return true;
}

/** Asks children that outlived their postmaster to exit at once. An idle one does so by itself, a busy one does not. */
export function quitLeftChildren(clusterName: string): void {
  for (const pid of processesNamed(`postgres: ${clusterName}: `)) signalProcess(pid, 'SIGQUIT');
}

/** The first line of a postmaster.pid. */
export function parsePid(text: string): number | undefined {
  const [, digits] = /^(\d+)\s/.exec(`${text}\n`) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

async function isServer(pid: number, clusterName: string): Promise<boolean> {
  return (await commandOf(pid)).includes(`cluster_name=${clusterName}`);
}
