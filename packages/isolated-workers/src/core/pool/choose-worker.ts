/** What the choice among workers depends on. */
export interface WorkerLoad {
  /** False: gets no requests. */
  readonly isAvailable: boolean;
  /** Requests it runs, abandoned ones included. */
  readonly load: number;
  /** Requests it runs whose callers wait. */
  readonly wanted: number;
  readonly lastUsedMs: number;
  /** When it last answered, or got its first request after it had none. */
  readonly heardMs: number;
}

/** A worker that has had requests and not answered for this long is blocked, or its requests wait for something. */
const silentMs = 2;

/**
 * Returns the worker that runs the fewest requests and has room for another; of equals the one used last, so that the others
 * become idle long enough to be ended. Linear: a pool has some hundred workers at most, and keeping them sorted costs more.
 */
export function leastLoaded<Worker extends WorkerLoad>(workers: readonly Worker[], limit: number): Worker | undefined {
  let best: Worker | undefined;
  for (const worker of workers) {
    if (!worker.isAvailable || worker.wanted >= limit) continue;
    if (!best || worker.load < best.load || (worker.load === best.load && worker.lastUsedMs > best.lastUsedMs))
      best = worker;
  }
  return best;
}

/** Returns the first worker that runs nothing, or has room and keeps answering. */
function firstResponsive<Worker extends WorkerLoad>(
  workers: readonly Worker[],
  limit: number,
  nowMs: number,
): Worker | undefined {
  for (const worker of workers) {
    if (!worker.isAvailable) continue;
    if (worker.load === 0 || (worker.wanted < limit && nowMs - worker.heardMs < silentMs)) return worker;
  }
  return undefined;
}

/** Whether the pool gets another worker: one could be started, one is starting, or neither. */
export type PoolGrowth = 'possible' | 'starting' | 'none';

/**
 * Returns the worker for the next request of a pool that packs; undefined leaves it in the queue.
 *
 * Where no worker is responsive, another one should be started and the request waits for it. While one is starting, the queue
 * counts as its load: `ahead` requests wait already, and a silent worker that runs no more than that is the better choice.
 */
export function packWorker<Worker extends WorkerLoad>(
  workers: readonly Worker[],
  now: { readonly limit: number; readonly nowMs: number; readonly ahead: number; readonly growth: () => PoolGrowth },
): Worker | undefined {
  const responsive = firstResponsive(workers, now.limit, now.nowMs);
  if (responsive) return responsive;
  const least = leastLoaded(workers, now.limit);
  if (!least) return undefined;
  const growth = now.growth();
  if (growth === 'possible') return undefined;
  return growth === 'none' || least.load <= now.ahead ? least : undefined;
}
