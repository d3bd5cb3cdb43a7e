/** What the choice among workers depends on. */
export interface WorkerLoad {
  /** Requests in hand. */
  readonly load: number;
  readonly lastUsedMs: number;
}

/**
 * The worker with the fewest requests in hand, below `limit`; of equals the one used last, so that the others grow old enough
 * to be ended. Linear: a pool has at most some hundred workers, and a look at each costs less than keeping them sorted.
 */
export function leastLoaded<Worker extends WorkerLoad>(workers: Iterable<Worker>, limit: number): Worker | undefined {
  let best: Worker | undefined;
  for (const worker of workers) {
    if (worker.load >= limit) continue;
    if (!best || worker.load < best.load || (worker.load === best.load && worker.lastUsedMs > best.lastUsedMs))
      best = worker;
  }
  return best;
}
