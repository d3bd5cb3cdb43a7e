import type { RestartConfig } from './config.js';
import type { DriverCapabilities } from './driver.js';
import type { MessageDef, MessageDefs, ProgressOf, RequestType, ResultOf, SendArguments } from './messages.js';
import type { RequestTimes } from './times.js';
import type { SendOptions, WorkerClient, WorkerOptions } from './worker.js';

/** How a pool starts its workers, how many, how it distributes requests, and when it replaces a worker. */
export interface PoolOptions<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
> extends Omit<
    WorkerOptions<Defs, HostDefs>,
    'cancellation' | 'maxConcurrent' | 'maxMemoryMb' | 'maxPending' | 'standby'
  > {
  /** Maximum number of workers. Default: `availableParallelism()`. While a worker is being replaced there is one more. */
  readonly size?: number;
  /** Idle workers kept warm beside the busy ones, within `size`. Default 1. `createPool` waits for them. */
  readonly minIdle?: number;
  /** Workers that stay although they are idle. They are started on demand like all others. Default 0. */
  readonly minSize?: number;
  /** Requests that a worker may run at once. Default 1. */
  readonly concurrencyPerWorker?: number;
  /**
   * Which worker gets a request.
   * - `spread` (default): the least loaded one. Best for requests that compute.
   * - `pack`: the first one that keeps answering, up to `concurrencyPerWorker`; another worker is started or used when all
   *   others are silent or full, one start at a time. Best for many short requests: they travel together and wake fewer
   *   processes.
   */
  readonly distribution?: 'spread' | 'pack';
  /**
   * Sends the requests of one turn of the event loop together, at its end: fewer and larger writes where many callers send
   * at the same time, for a delay of up to one turn. Default false.
   */
  readonly batch?: boolean;
  /** Requests that may wait for a worker; the next one is rejected with `BackpressureError`. Default 10,000. */
  readonly maxPending?: number;
  /** Replaces a worker after this many requests; it serves until its successor is ready. Default: no limit. */
  readonly maxRequestsPerWorker?: number;
  /** Replaces a worker between requests when its resident memory (MiB) is above this. Processes only. */
  readonly maxMemoryMb?: number;
  /** Kills a worker, also while it runs requests, when its resident memory (MiB) is above this. Processes only. */
  readonly hardMemoryLimitMb?: number;
  /** Ends a worker above `minIdle` and `minSize` that was idle for this long. Default 30 s; 0 keeps all. */
  readonly idleTimeoutMs?: number;
  /**
   * What happens to a worker whose handler does not stop after its request was cancelled or timed out. By default it is killed
   * and started again if it does not acknowledge the cancellation within 5 s and no other request that it has begun has its
   * caller.
   */
  readonly cancellation?: CancellationConfig;
  /** How often and how fast workers that are lost (not started, or died too often) are replaced. Default: as `restart`. */
  readonly replacement?: RestartConfig;
  readonly events?: PoolEvents;
}

/** Limits for handlers whose request was cancelled or timed out. Both count from the cancellation; 0 means no limit. */
export interface CancellationConfig {
  /**
   * The worker must acknowledge the cancellation within this time. If it does not, its event loop is blocked: the worker is
   * killed and started again. Requests it had not begun run again, others reject with `WorkerCrashedError`
   * (`endedByHost: true`). An older request that still has its caller may compute legitimately: the worker then only gets no
   * new requests until it answers or that request is cancelled as well.
   */
  readonly acknowledgeMs?: number;
  /** The handler must end within this time. If it does not, its worker gets no new requests and ends after its last one. */
  readonly finishMs?: number;
}

/** Notifications for logs and metrics. */
export interface PoolEvents {
  /** The event loop of a worker is blocked by a cancelled request; the worker is being killed. */
  readonly onUnresponsive?: () => void;
  /** No worker can be started. Requests are rejected with `WorkerUnavailableError` for this long. */
  readonly onUnavailable?: (error: Error, forMs: number) => void;
}

/** The present state of a pool, and counts since its creation. */
export interface PoolStats {
  /** Workers in any state. */
  readonly size: number;
  /** Workers that are ready and run nothing. */
  readonly idle: number;
  /** Workers that run requests whose callers wait. */
  readonly busy: number;
  /** Requests that wait for a worker. */
  readonly pending: number;
  /** Requests that were cancelled or timed out and whose handlers still run. */
  readonly abandoned: number;
  /** Unplanned restarts: a worker died or did not start, and another was started. */
  readonly restarts: number;
  /** Planned replacements, by `maxRequestsPerWorker` or `maxMemoryMb`. */
  readonly recycled: number;
}

/** A request and the means to cancel it. */
export interface CancellableRequest<Result> {
  readonly answer: Promise<Result>;
  /**
   * Rejects `answer` with `reason` at once and aborts the signal of the handler. A request that was not sent yet never
   * reaches a worker. Has no effect once the request is settled.
   */
  cancel(reason?: unknown): void;
}

/** Several workers that run the same script. */
export interface WorkerPool<Defs extends MessageDefs<Defs>> extends AsyncDisposable {
  /** Sends a request to a worker chosen by `distribution` and resolves with the answer; queues it when all are full. */
  readonly send: WorkerClient<Defs>['send'];
  /**
   * Does what `send` does, for callers that may cancel. An `AbortController` with a listener for each request would take 6 µs
   * (Node 20), as much CPU of the host as a small request itself.
   */
  request<Type extends RequestType<Defs>>(
    type: Type,
    ...rest: SendArguments<Defs, Type, SendOptions<ProgressOf<Defs, Type>>>
  ): CancellableRequest<ResultOf<Defs, Type>>;
  /** Requests a stream of items; leaving the loop early ends the handler. */
  readonly stream: WorkerClient<Defs>['stream'];
  readonly capabilities: DriverCapabilities;
  /** Process ids of the workers; with threads, that of this process for each. */
  readonly pids: readonly number[];
  stats(): PoolStats;
  /** Histograms of how long requests waited for a worker, and how long they ran; of all workers together. */
  readonly times: RequestTimes;
  /** Changes the limits. Surplus workers end when they have been idle for `idleTimeoutMs`. */
  resize(limits: { readonly size?: number; readonly concurrencyPerWorker?: number }): void;
  /** Lets this process end although workers run, as soon as no request is pending; the workers end with it. */
  unref(): void;
  /** The opposite of `unref`, and the default: this process runs until `close`. */
  ref(): void;
  /** Rejects new requests; resolves when all others are settled, or when the deadline aborts. */
  drain(deadline?: AbortSignal): Promise<void>;
  /** Ends all workers: unsettled requests reject with `WorkerClosedError`. Safe to call twice. */
  close(): Promise<void>;
  /** The same as `close`. */
  stop(): Promise<void>;
}
