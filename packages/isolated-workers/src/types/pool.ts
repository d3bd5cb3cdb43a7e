import type { DriverCapabilities } from './driver.js';
import type { MessageDef, MessageDefs } from './messages.js';
import type { WorkerClient, WorkerOptions } from './worker.js';

/** How a pool starts its workers, how many of them, and when it replaces one. */
export interface PoolOptions<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
> extends Omit<WorkerOptions<Defs, HostDefs>, 'maxConcurrent' | 'maxMemoryMb' | 'maxPending' | 'standby'> {
  /** Workers at most; as many as the machine runs at once unless told. While one is being replaced there is one more. */
  readonly size?: number;
  /** Idle workers kept warm beside the busy ones, as far as `size` allows; 1 unless told. `createPool` waits for them. */
  readonly minIdle?: number;
  /** Requests a worker may have in hand at once; 1 unless told. */
  readonly concurrencyPerWorker?: number;
  /** Requests that may wait for a worker; one more is refused with `BackpressureError`. 10,000 unless told. */
  readonly maxPending?: number;
  /** After this many requests a worker is replaced; it goes on working until its successor is ready. No limit unless told. */
  readonly maxRequestsPerWorker?: number;
  /** Resident memory in MiB above which a worker is replaced between requests; processes only. `maxHeapMb` limits it at once. */
  readonly maxMemoryMb?: number;
  /** How long a worker above `minIdle` may be idle before it is ended; 30 s unless told. 0 keeps all. */
  readonly idleTimeoutMs?: number;
}

/** What a pool is doing now, and what it has done. */
export interface PoolStats {
  /** Workers that exist, in whatever state. */
  readonly size: number;
  /** Ready, with nothing to do. */
  readonly idle: number;
  /** With requests in hand. */
  readonly busy: number;
  /** Requests that wait for a worker. */
  readonly pending: number;
  /** Unplanned ones: a worker died, or did not start, and another was started. */
  readonly restarts: number;
  /** Planned ones: a worker had served its time, or had grown too large. */
  readonly recycled: number;
}

/** Several workers of one script behind one face. */
export interface WorkerPool<Defs extends MessageDefs<Defs>> extends AsyncDisposable {
  /** Asks the least loaded worker and resolves with its answer; waits its turn when all are busy. */
  readonly send: WorkerClient<Defs>['send'];
  /** Asks the least loaded worker for a stream of items; leaving the loop early ends the handler. */
  readonly stream: WorkerClient<Defs>['stream'];
  readonly capabilities: DriverCapabilities;
  stats(): PoolStats;
  /** Takes no new requests; resolves when all are answered, or when the deadline aborts. */
  drain(deadline?: AbortSignal): Promise<void>;
  /** Ends all workers: what is not answered rejects with `WorkerClosedError`. Safe to call twice. */
  close(): Promise<void>;
  /** The same as `close`. */
  stop(): Promise<void>;
}
