/**
 * Returns how many workers to start: enough for the queue and the warm spares, never more than `size` in all. A pool that
 * packs starts one at a time for its queue, since the worker that starts may be enough for all of it.
 */
export function workersToStart(
  now: { readonly total: number; readonly busy: number; readonly queued: number },
  limits: {
    readonly size: number;
    readonly minIdle: number;
    readonly concurrency: number;
    readonly distribution: 'spread' | 'pack';
  },
): number {
  const wantedByQueue = Math.ceil(now.queued / limits.concurrency);
  const forQueue = limits.distribution === 'pack' ? Math.min(1, wantedByQueue) : wantedByQueue;
  const wanted = Math.min(limits.size, now.busy + Math.max(limits.minIdle, forQueue));
  return Math.max(0, wanted - now.total);
}

/** Returns the workers that were idle for too long, the oldest first; `minIdle` idle ones and `minSize` in all stay. */
export function workersToEnd<Worker extends { readonly lastUsedMs: number }>(
  idle: readonly Worker[],
  limits: {
    readonly total: number;
    readonly minIdle: number;
    readonly minSize: number;
    readonly idleTimeoutMs: number;
  },
  nowMs: number,
): Worker[] {
  if (limits.idleTimeoutMs === 0) return [];
  const surplus = Math.min(idle.length - limits.minIdle, limits.total - limits.minSize);
  return idle
    .toSorted((a, b) => a.lastUsedMs - b.lastUsedMs)
    .slice(0, Math.max(0, surplus))
    .filter((worker) => nowMs - worker.lastUsedMs >= limits.idleTimeoutMs);
}

/** Returns the limit that a worker has reached, if any; called after each request. */
export function recycleReason(
  worker: { readonly served: number; readonly rssBytes: number | undefined },
  limits: { readonly maxRequests: number; readonly maxMemoryMb: number | undefined },
): 'requests' | 'memory' | undefined {
  if (worker.served >= limits.maxRequests) return 'requests';
  const { rssBytes } = worker;
  const isTooLarge =
    rssBytes !== undefined && limits.maxMemoryMb !== undefined && rssBytes > limits.maxMemoryMb * 1024 * 1024;
  return isTooLarge ? 'memory' : undefined;
}
