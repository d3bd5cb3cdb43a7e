import { availableParallelism } from 'node:os';
import { UnsupportedOptionError } from '../../types/errors.js';
import type { PoolOptions } from '../../types/pool.js';
import { settle, type AnyWorkerOptions, type WorkerSettings } from '../worker-settings.js';

// oxlint-disable-next-line typescript/no-explicit-any -- options of any message definitions
export type AnyPoolOptions = PoolOptions<any, any>;

/** Options of a pool, checked and complete. */
export interface PoolSettings {
  readonly size: number;
  readonly minIdle: number;
  readonly concurrency: number;
  readonly maxPending: number;
  readonly maxRequests: number;
  readonly maxMemoryMb: number | undefined;
  readonly idleTimeoutMs: number;
  /** What each worker is made of. */
  readonly workerOptions: AnyWorkerOptions;
  /** The same, checked. */
  readonly worker: WorkerSettings;
}

/** Checks what was asked for; the pool's own limits take the place of the single worker's. */
export function settlePool(options: AnyPoolOptions): PoolSettings {
  const {
    size = availableParallelism(),
    minIdle = 1,
    concurrencyPerWorker = 1,
    maxPending = 10_000,
    maxRequestsPerWorker,
    maxMemoryMb,
    idleTimeoutMs = 30_000,
    ...workerOptions
  } = options;
  const whole = { size, concurrencyPerWorker, maxRequestsPerWorker: maxRequestsPerWorker ?? 1 };
  for (const [name, value] of Object.entries(whole))
    if (!Number.isInteger(value) || value < 1)
      throw new UnsupportedOptionError(`${name} is ${value}; it must be a whole number from 1`);
  for (const [name, value] of Object.entries({ minIdle, maxPending, idleTimeoutMs }))
    if (!(value >= 0)) throw new UnsupportedOptionError(`${name} is ${value}; it must be 0 or more`);
  if (minIdle > size)
    throw new UnsupportedOptionError(`minIdle (${minIdle}) is more than size (${size}); raise size or lower minIdle`);
  return {
    size,
    minIdle,
    concurrency: concurrencyPerWorker,
    maxPending,
    maxRequests: maxRequestsPerWorker ?? Number.POSITIVE_INFINITY,
    maxMemoryMb,
    idleTimeoutMs,
    // The common queue is the one that is bounded; what a worker was given it may keep.
    workerOptions: { ...workerOptions, maxPending: Number.POSITIVE_INFINITY },
    worker: settle(maxMemoryMb === undefined ? workerOptions : { ...workerOptions, maxMemoryMb }),
  };
}
