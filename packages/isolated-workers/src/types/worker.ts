import type { QuarantineConfig, RestartConfig, TimeoutConfig, UnexpectedShutdownConfig } from './config.js';
import type { Driver, DriverCapabilities, WorkerSample } from './driver.js';
import type {
  HostHandlers,
  ItemOf,
  MessageDef,
  MessageDefs,
  ProgressOf,
  RequestType,
  ResultOf,
  SendArguments,
  StreamType,
} from './messages.js';
import type { Middleware } from './middleware.js';
import type { Serializer } from './serializer.js';

/** Four methods; `console` is one. */
export interface Logger {
  debug(message: string, facts?: object): void;
  info(message: string, facts?: object): void;
  warn(message: string, facts?: object): void;
  error(message: string, facts?: object): void;
}

/** The least important lines that are still logged; `error` unless told. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** How a worker is started, limited, supervised and talked to. */
export interface WorkerOptions<
  Defs extends MessageDefs<Defs>,
  HostDefs extends MessageDefs<HostDefs> = Record<never, MessageDef>,
> {
  /** The script that calls `startWorkerServer`: a path, or `new URL('./worker.js', import.meta.url)`. */
  readonly script: string | URL;
  /** `childProcess` unless told otherwise. */
  readonly driver?: Driver;
  /** Variables on top of the host's own; one that is undefined is taken away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** False: the worker gets none of the host's variables, only `env`. True unless told. */
  readonly inheritEnv?: boolean;
  readonly argv?: readonly string[];
  /** Flags for Node; the host's own unless told. */
  readonly execArgv?: readonly string[];
  /** Anything that can be cloned, of any size, for the worker's `server.workerData`. */
  readonly workerData?: unknown;
  /** What becomes of what the worker prints; `inherit` unless told. */
  readonly stdout?: 'inherit' | 'ignore';
  readonly stderr?: 'inherit' | 'ignore';
  /** Heap limit in MiB; needs the capability `memoryLimit`. */
  readonly maxHeapMb?: number;
  /** Resident memory in MiB above which the worker is ended, also in the middle of its work; processes only. */
  readonly maxMemoryMb?: number;
  /** One number for every request, or limits by what they are for. */
  readonly timeout?: number | TimeoutConfig<Defs>;
  readonly unexpectedShutdown?: UnexpectedShutdownConfig<Defs>;
  readonly restart?: RestartConfig;
  readonly quarantine?: QuarantineConfig;
  /** Requests that may be pending, sent or not; 10,000 unless told. */
  readonly maxPending?: number;
  /** Requests the worker may have in hand at once; no limit unless told. */
  readonly maxConcurrent?: number;
  /** Keeps a second worker started, so that a crash costs milliseconds. */
  readonly standby?: boolean;
  /** Largest message in bytes; 256 MiB unless told. Processes only: threads share memory and have no frames. */
  readonly maxFrameBytes?: number;
  /** How long `close` waits for the worker to end by itself; 5 s unless told. */
  readonly closeGraceMs?: number;
  readonly middleware?: readonly Middleware[];
  readonly serializer?: Serializer;
  /** Answers to what the worker asks with `callHost`. */
  readonly hostHandlers?: HostHandlers<HostDefs>;
  /** Names requests for middleware and log; a number unless told. */
  readonly txIdGenerator?: (message: { readonly type: string; readonly payload: unknown }) => string;
  /** The W3C `traceparent` of a call that brings none of its own. */
  readonly traceparent?: () => string | undefined;
  readonly logger?: Logger;
  readonly logLevel?: LogLevel;
}

/** What may be said about one request. */
export interface SendOptions<Progress = unknown> {
  /** Gives up: the promise rejects with its reason, and the handler's own signal aborts. */
  readonly signal?: AbortSignal;
  /** In milliseconds, for this call; 0 means none. */
  readonly timeout?: number;
  readonly onProgress?: (progress: Progress) => void;
  /** Buffers of the payload that change hands; needs the capability `transfer`. A request that hands buffers over is not retried. */
  readonly transfer?: readonly ArrayBuffer[];
  readonly traceparent?: string;
}

/** What may be said about one stream. */
export interface StreamOptions<Progress = unknown> extends SendOptions<Progress> {
  /** Items the worker may be ahead; 16 unless told. */
  readonly highWaterMark?: number;
}

/** Where a worker stands: `restarting` between two lives, `unavailable` when it died too often. */
export type WorkerState = 'starting' | 'ready' | 'restarting' | 'unavailable' | 'closing' | 'closed';

/** The host's side of one worker, through all its lives. */
export interface WorkerClient<Defs extends MessageDefs<Defs>> extends AsyncDisposable {
  /** Asks and resolves with the answer; rejects with the handler's own error, or one of this library's. */
  send<Type extends RequestType<Defs>>(
    type: Type,
    ...rest: SendArguments<Defs, Type, SendOptions<ProgressOf<Defs, Type>>>
  ): Promise<ResultOf<Defs, Type>>;
  /** Asks for a stream of items; leaving the loop early ends the handler. */
  stream<Type extends StreamType<Defs>>(
    type: Type,
    ...rest: SendArguments<Defs, Type, StreamOptions<ProgressOf<Defs, Type>>>
  ): AsyncIterableIterator<ItemOf<Defs, Type>>;
  /** Of the worker that lives now. */
  readonly pid: number | undefined;
  readonly state: WorkerState;
  readonly isActive: boolean;
  readonly isConnected: boolean;
  readonly capabilities: DriverCapabilities;
  /** Requests that are not yet answered. */
  readonly pending: number;
  /** Memory and how long it has been busy, told by the guard even while a handler computes. */
  sample(): Promise<WorkerSample | undefined>;
  /** Ends the worker now and starts another; requests it has in hand are treated as after a crash. */
  recycle(): Promise<void>;
  /** Takes no new requests; resolves when none is pending. */
  drain(deadline?: AbortSignal): Promise<void>;
  /** Ends the worker: pending requests reject with `WorkerClosedError` and are never retried. Safe to call twice. */
  close(): Promise<void>;
  /** The same as `close`. */
  stop(): Promise<void>;
}
