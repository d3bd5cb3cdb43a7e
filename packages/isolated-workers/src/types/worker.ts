import type {
  QuarantineConfig,
  RestartConfig,
  StuckWorkerConfig,
  TimeoutConfig,
  UnexpectedShutdownConfig,
} from './config.js';
import type { Driver, DriverCapabilities, WorkerSample } from './driver.js';
import type {
  HostHandlers,
  ItemOf,
  MessageDef,
  MessageDefs,
  Middleware,
  ProgressOf,
  RequestType,
  ResultOf,
  SendArguments,
  Serializer,
  StreamType,
} from './messages.js';
import type { RequestTimes } from './times.js';

/** Receives log lines. `console` is a Logger. */
export interface Logger {
  debug(message: string, facts?: object): void;
  info(message: string, facts?: object): void;
  warn(message: string, facts?: object): void;
  error(message: string, facts?: object): void;
}

/** The lowest level that is logged; `error` by default. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Options of a worker. */
export interface WorkerOptions<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
> {
  /** The script that calls `startWorkerServer`: a path, or `new URL('./worker.js', import.meta.url)`. */
  readonly script: string | URL;
  /** `childProcess` by default. */
  readonly driver?: Driver;
  /** Variables in addition to those of the host; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** False: the worker gets only `env`, no variables of the host. True by default. */
  readonly inheritEnv?: boolean;
  /** Runs the worker as this user; the host must be root. Processes only. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly argv?: readonly string[];
  /** Flags for Node; those of the host by default. */
  readonly execArgv?: readonly string[];
  /** Any cloneable value of any size; the worker reads it as `server.workerData`. */
  readonly workerData?: unknown;
  /** Where the output of the worker goes; `inherit` by default. */
  readonly stdout?: 'inherit' | 'ignore';
  readonly stderr?: 'inherit' | 'ignore';
  /** Heap limit in MiB; needs the capability `memoryLimit`. */
  readonly maxHeapMb?: number;
  /** Resident memory in MiB above which the worker is killed, even while it processes a request; processes only. */
  readonly maxMemoryMb?: number;
  /** One limit in milliseconds for every attempt of a request, or separate limits. */
  readonly timeout?: number | TimeoutConfig<Defs>;
  readonly unexpectedShutdown?: UnexpectedShutdownConfig<Defs>;
  readonly restart?: RestartConfig;
  readonly quarantine?: QuarantineConfig;
  /** When a worker is ended that is stuck in a request without a caller. */
  readonly cancellation?: StuckWorkerConfig;
  /** The limit of pending requests, sent or not; 10,000 by default. */
  readonly maxPending?: number;
  /** Requests that the worker may process at once; no limit by default. */
  readonly maxConcurrent?: number;
  /** Keeps a second worker running, so that a crash costs milliseconds. */
  readonly standby?: boolean;
  /** Largest message in bytes; 256 MiB by default. Processes only: threads share memory and have no frames. */
  readonly maxFrameBytes?: number;
  /** How long `close` waits for the worker to end by itself; 5 s by default. */
  readonly closeGraceMs?: number;
  readonly middleware?: readonly Middleware[];
  readonly serializer?: Serializer;
  /** Handlers for `callHost` of the worker. */
  readonly hostHandlers?: HostHandlers<HostDefs>;
  /** Creates the ids of requests for middleware and diagnostics; a number by default. */
  readonly txIdGenerator?: (message: { readonly type: string; readonly payload: unknown }) => string;
  /** The W3C `traceparent` of a call without its own. */
  readonly traceparent?: () => string | undefined;
  readonly logger?: Logger;
  readonly logLevel?: LogLevel;
}

/** Options of one request. */
export interface SendOptions<Progress = unknown> {
  /** Cancels the request: the promise rejects with the reason, and the handler's signal aborts. */
  readonly signal?: AbortSignal;
  /** Time limit of an attempt in milliseconds; 0 means none. It counts anew when the request is sent again after a crash. */
  readonly timeout?: number;
  /** Time limit of the request in all, with restarts and all attempts; 0 means none. */
  readonly totalTimeout?: number;
  readonly onProgress?: (progress: Progress) => void;
  /** Buffers of the payload to transfer; needs the capability `transfer`. A request that transfers buffers is not retried. */
  readonly transfer?: readonly ArrayBuffer[];
  readonly traceparent?: string;
  /**
   * Where requests wait for a worker, those of a higher priority go first; equal ones in the order of `send`. Any finite
   * number; 0 by default. A single worker lets requests wait only with `maxConcurrent`.
   */
  readonly priority?: number;
}

/** Options of one stream. */
export interface StreamOptions<Progress = unknown> extends SendOptions<Progress> {
  /** Items that the worker may send ahead of the reader; 16 by default. */
  readonly highWaterMark?: number;
}

/** The state of a worker. `workerStates` has the steps between them. */
export type WorkerState = 'starting' | 'ready' | 'restarting' | 'unavailable' | 'closing' | 'closed';

/** The host's side of one worker, across restarts. */
export interface WorkerClient<Defs extends MessageDefs<Defs>> extends AsyncDisposable {
  /** Sends a request and resolves with its result. Rejects with the error of the handler or of this library. */
  send<Type extends RequestType<Defs>>(
    type: Type,
    ...rest: SendArguments<Defs, Type, SendOptions<ProgressOf<Defs, Type>>>
  ): Promise<ResultOf<Defs, Type>>;
  /** Requests a stream of items. Leaving the loop early ends the handler. */
  stream<Type extends StreamType<Defs>>(
    type: Type,
    ...rest: SendArguments<Defs, Type, StreamOptions<ProgressOf<Defs, Type>>>
  ): AsyncIterableIterator<ItemOf<Defs, Type>>;
  /** The process id of the current worker. */
  readonly pid: number | undefined;
  readonly state: WorkerState;
  readonly isActive: boolean;
  readonly isConnected: boolean;
  readonly capabilities: DriverCapabilities;
  /** The number of unanswered requests. */
  readonly pending: number;
  /** Histograms of how long requests waited for the worker, and how long they ran. */
  readonly times: RequestTimes;
  /** Measures memory and event loop delay of a worker process, even while a handler blocks; undefined for a thread. */
  sample(): Promise<WorkerSample | undefined>;
  /** Kills the worker and starts another. Requests that it processes are treated as after a crash. */
  recycle(): Promise<void>;
  /**
   * Lets this process end although the worker runs, as soon as no request is pending; the worker ends with it. Nothing has to
   * be closed then.
   */
  unref(): void;
  /** The opposite of `unref`, and the default: this process runs until `close`. */
  ref(): void;
  /** Refuses new requests. Resolves when none is pending, or when the deadline aborts. */
  drain(deadline?: AbortSignal): Promise<void>;
  /** Ends the worker: pending requests reject with `WorkerClosedError` and are never retried. Safe to call twice. */
  close(): Promise<void>;
  /** The same as `close`. */
  stop(): Promise<void>;
}
