import type { WorkerState } from '../types/worker.js';

/**
 * The states of a worker, each with those that may follow it. The package has no dependencies, so this table is its own.
 *
 * - `starting`: the first process or thread has not called `startWorkerServer` yet
 * - `ready`: a worker answers requests
 * - `restarting`: the worker died; its successor has not started, or is not ready. Requests wait
 * - `unavailable`: no worker runs, and none is started until `restart.periodMs` is over and the next request arrives
 * - `closing`: `close` was called; the worker ends
 * - `closed`: no worker runs, and none will
 */
export const workerStates: Readonly<Record<WorkerState, readonly WorkerState[]>> = {
  starting: ['ready', 'restarting', 'closing'],
  ready: ['restarting', 'closing'],
  restarting: ['ready', 'unavailable', 'closing'],
  unavailable: ['restarting', 'closing'],
  closing: ['closed'],
  closed: [],
};

/** Returns `to`. Throws when the table has no such step, which is a defect of this library. */
export function nextWorkerState(from: WorkerState, to: WorkerState): WorkerState {
  if (!workerStates[from].includes(to)) {
    throw new Error(`The worker cannot go from ${from} to ${to}. Report this as a defect of isolated-workers.`);
  }
  return to;
}
