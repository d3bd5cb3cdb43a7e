import type { CrashFacts } from './errors.js';
import type { Serializer } from './serializer.js';
import type { ToHost, ToWorker } from './wire-message.js';

/** What a driver can do; asking for more fails when the worker is created. */
export interface DriverCapabilities {
  /** A dead worker can be replaced: needed for `retry`. */
  readonly reconnect: boolean;
  /** ArrayBuffers and ports can change hands without being copied. */
  readonly transfer: boolean;
  /** A worker that does not listen can be ended from outside without harm to the host. */
  readonly kill: boolean;
  /** The heap of a worker can be limited. */
  readonly memoryLimit: boolean;
}

/** How one worker is to be started. */
export interface ConnectSpec {
  /** Absolute path of the script. */
  readonly script: string;
  readonly env: Readonly<Record<string, string | undefined>> | undefined;
  /** False: `env` is all that the worker may have of variables. */
  readonly inheritEnv: boolean;
  readonly argv: readonly string[];
  readonly execArgv: readonly string[] | undefined;
  /** Heap limit in MiB. */
  readonly maxHeapMb: number | undefined;
  readonly workerData: unknown;
  readonly stdout: 'inherit' | 'ignore';
  readonly stderr: 'inherit' | 'ignore';
  readonly serializer: Serializer | undefined;
  readonly maxFrameBytes: number;
}

/** What a driver tells about one worker. */
export interface ConnectionEvents {
  readonly onMessage: (message: ToHost) => void;
  /** Exactly once, with everything that is known; every answer the worker managed to send has come before. */
  readonly onShutdown: (facts: CrashFacts) => void;
}

/** What the guard inside a worker saw. */
export interface WorkerSample {
  readonly rssBytes: number;
  /** How long the main loop of the worker has not turned: large while a handler computes. */
  readonly busyMs: number;
}

/** One worker, from its start to its end. */
export interface Connection {
  readonly pid: number | undefined;
  /** Throws `SerializationError` when the message cannot be written. */
  send(message: ToWorker, transfer?: readonly ArrayBuffer[]): void;
  /** After the end: whether the worker had begun with that request; undefined when nobody knows. */
  hadStarted(id: number): boolean | undefined;
  /** Asks the guard, which answers even while the main loop is busy; undefined when there is none. */
  sample(): Promise<WorkerSample | undefined>;
  /** Politely first; after `graceMs` by force. Resolves when it is gone. */
  end(graceMs: number): Promise<void>;
  /** By force, with all its children. */
  kill(): void;
}

/** Starts workers of one kind. */
export interface Driver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  connect(spec: ConnectSpec, events: ConnectionEvents): Connection;
}
