/** A placeholder as the plan of its pool sees it. */
export interface PooledWorker {
  readonly workerId: string;
  /** Connected and without an application; otherwise it is still starting. */
  readonly isIdle: boolean;
  readonly startedAtMs: number;
  /** Age at which it is replaced: between 15 and 30 minutes, different for each, so that a pool is not renewed at once. */
  readonly ttlMs: number;
}

export interface PoolBounds {
  readonly min: number;
  readonly target: number;
  readonly max: number;
}

export interface PoolPlan {
  /** Placeholders to start. */
  readonly start: number;
  /** Idle placeholders to end. */
  readonly retire: readonly string[];
}

/** No placeholder becomes older than this, replaced or not. */
export const oldestPlaceholderMs = 30 * 60_000;
const youngestTtlMs = 15 * 60_000;
/** Time that a replacement has to come up before its predecessor must go. */
const replaceWithinMs = 60_000;

/** Returns the age at which a placeholder is replaced; `fraction` is random in [0, 1), so that those of one moment do not end together. */
export function placeholderTtlMs(fraction: number): number {
  return youngestTtlMs + fraction * (oldestPlaceholderMs - replaceWithinMs - youngestTtlMs);
}

/**
 * Plans one pool of placeholders. Replenishes it to the target within its bounds; ends idle ones above the target, oldest first;
 * replaces expired ones: they go when fresh ones have taken their places, or when they have reached the greatest age.
 */
export function planPool(pool: readonly PooledWorker[], bounds: PoolBounds, nowMs: number): PoolPlan {
  const target = Math.min(bounds.max, Math.max(bounds.min, bounds.target));
  const ageOf = (worker: PooledWorker): number => nowMs - worker.startedAtMs;
  const fresh = pool.filter((worker) => ageOf(worker) < worker.ttlMs);
  const freshIdle = fresh.filter(({ isIdle }) => isIdle).toSorted(byAge);
  const expired = pool.filter((worker) => worker.isIdle && ageOf(worker) >= worker.ttlMs).toSorted(byAge);
  const tooOld = expired.filter((worker) => ageOf(worker) >= oldestPlaceholderMs);
  const replaceable = expired.slice(tooOld.length);
  const missing = Math.max(0, target - fresh.length);
  const kept = Math.max(0, target - freshIdle.length);
  // At the bound of the pool, one expired placeholder makes room for its replacement.
  const room = missing > 0 && pool.length - tooOld.length >= bounds.max ? 1 : 0;
  const replaced = replaceable.slice(0, Math.max(room, replaceable.length - kept));
  const surplus = freshIdle.slice(0, Math.max(0, fresh.length - target));
  const staying = pool.length - tooOld.length - replaced.length - surplus.length;
  return {
    start: Math.max(0, Math.min(missing, bounds.max - staying)),
    retire: [...tooOld, ...replaced, ...surplus].map(({ workerId }) => workerId),
  };
}

function byAge(a: PooledWorker, b: PooledWorker): number {
  return a.startedAtMs - b.startedAtMs || (a.workerId < b.workerId ? -1 : 1);
}
