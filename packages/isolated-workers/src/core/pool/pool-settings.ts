import { availableParallelism } from 'node:os';
import type { RestartConfig } from '../../types/config.js';
import { UnsupportedOptionError } from '../../types/errors.js';
import type { PoolEvents, PoolOptions } from '../../types/pool.js';
import { DurationCounts, type RequestCounts } from '../duration-counts.js';
import { resolveWorkerOptions, type AnyWorkerOptions, type IsolatedWorkerSettings } from '../worker-settings.js';

// oxlint-disable-next-line typescript/no-explicit-any -- options of any message definitions
export type AnyPoolOptions = PoolOptions<any, any>;

/** Options of a pool, checked and complete. */
export interface PoolSettings {
  /** Changed by `resize`, like `concurrency`. */
  size: number;
  concurrency: number;
  readonly minIdle: number;
  readonly minSize: number;
  readonly distribution: 'spread' | 'pack';
  readonly batch: boolean;
  readonly maxPending: number;
  readonly maxRequests: number;
  readonly maxMemoryMb: number | undefined;
  readonly idleTimeoutMs: number;
  readonly acknowledgeMs: number;
  readonly finishMs: number;
  readonly replacement: RestartConfig | undefined;
  readonly events: PoolEvents;
  /** Of all workers together. */
  readonly times: RequestCounts;
  /** Options of each worker. */
  readonly workerOptions: AnyWorkerOptions;
  /** The same, checked. */
  readonly worker: IsolatedWorkerSettings;
}

/** Checks options that depend on others or on the driver. Throws `UnsupportedOptionError` with what to change. */
export function settlePool(options: AnyPoolOptions): PoolSettings {
  const {
    size = availableParallelism(),
    minIdle = 1,
    minSize = 0,
    concurrencyPerWorker = 1,
    distribution = 'spread',
    batch = false,
    maxPending = 10_000,
    maxRequestsPerWorker,
    maxMemoryMb,
    hardMemoryLimitMb,
    idleTimeoutMs = 30_000,
    cancellation: { acknowledgeMs, finishMs = 0 } = {},
    replacement = options.restart,
    events = {},
    ...others
  } = options;
  for (const [name, value] of Object.entries({ minIdle, minSize }))
    if (value > size)
      throw new UnsupportedOptionError(`${name} (${value}) is more than size (${size}); raise size or lower ${name}`);
  // A limit of the pool's own is stricter, and replaces that of its workers.
  const cancellation = acknowledgeMs === undefined ? {} : { cancellation: { acknowledgeMs: 0 } };
  const own = { ...others, ...cancellation };
  const workerOptions = hardMemoryLimitMb === undefined ? own : { ...own, maxMemoryMb: hardMemoryLimitMb };
  return {
    size,
    minIdle,
    minSize,
    concurrency: concurrencyPerWorker,
    distribution,
    batch,
    maxPending,
    maxRequests: maxRequestsPerWorker ?? Number.POSITIVE_INFINITY,
    maxMemoryMb,
    idleTimeoutMs,
    acknowledgeMs: acknowledgeMs ?? 0,
    finishMs,
    replacement,
    events,
    times: { wait: new DurationCounts(), run: new DurationCounts() },
    // The pool bounds its queue and watches the total time; a worker accepts whatever the pool assigns to it.
    workerOptions: { ...workerOptions, timeout: withoutTotal(options.timeout), maxPending: Number.POSITIVE_INFINITY },
    worker: resolveWorkerOptions(maxMemoryMb === undefined ? workerOptions : { ...workerOptions, maxMemoryMb }),
  };
}

function withoutTotal(timeout: AnyPoolOptions['timeout'] = {}): NonNullable<AnyWorkerOptions['timeout']> {
  return typeof timeout === 'number' ? timeout : { ...timeout, total: 0 };
}
