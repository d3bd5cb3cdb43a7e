/** What the choice among workers depends on. */
export interface WorkerSituation {
  /** Calls in hand. */
  readonly load: number;
  readonly heardMs: number;
  readonly isReady: boolean;
  readonly isRetired: boolean;
  readonly isSuspect: boolean;
}

/** A worker with calls in hand that has been silent for this long is busy: its loop stands still, or its calls wait for something. */
const silentMs = 2;

/**
 * The worker for one more call; undefined means that another should be started for it.
 *
 * The first that is free or keeps answering gets it: short calls so travel together, many in one write, and do not wake more
 * processes than they need. Where all are silent or have their share, another is started, up to `size`, one at a time; then the
 * least loaded has to do.
 */
export function chooseWorker<Worker extends WorkerSituation>(
  workers: readonly Worker[],
  { size, share, nowMs }: { readonly size: number; readonly share: number; readonly nowMs: number },
): Worker | undefined {
  let least: Worker | undefined;
  let count = 0;
  let isOneStarting = false;
  for (const worker of workers) {
    if (worker.isRetired || worker.isSuspect) continue;
    count += 1;
    const { load } = worker;
    if (worker.isReady) {
      if (load === 0 || (load < share && nowMs - worker.heardMs < silentMs)) return worker;
    } else isOneStarting = true;
    // One that is still to start is the last resort among equals.
    if (!least || load < least.load) least = worker;
  }
  return count < size && !isOneStarting ? undefined : least;
}
