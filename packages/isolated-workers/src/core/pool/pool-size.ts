import type { WorkerLoad } from './least-loaded.js';

/** How many workers to start: enough for what waits and for the warm spares, never more than `size` in all. */
export function workersToStart(
  now: { readonly total: number; readonly busy: number; readonly queued: number },
  limits: { readonly size: number; readonly minIdle: number; readonly concurrency: number },
): number {
  const forQueue = Math.ceil(now.queued / limits.concurrency);
  const wanted = Math.min(limits.size, now.busy + Math.max(limits.minIdle, forQueue));
  return Math.max(0, wanted - now.total);
}

/** Which idle workers to end: those idle for too long, the oldest first, down to the warm spares. */
export function workersToEnd<Worker extends WorkerLoad>(
  idle: readonly Worker[],
  limits: { readonly minIdle: number; readonly idleTimeoutMs: number },
  nowMs: number,
): Worker[] {
  if (limits.idleTimeoutMs === 0) return [];
  return idle
    .toSorted((a, b) => a.lastUsedMs - b.lastUsedMs)
    .slice(0, Math.max(0, idle.length - limits.minIdle))
    .filter((worker) => nowMs - worker.lastUsedMs >= limits.idleTimeoutMs);
}
