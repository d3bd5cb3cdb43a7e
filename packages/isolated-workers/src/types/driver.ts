import type { CrashFacts } from './errors.js';
import type { Serializer } from './messages.js';
import type { ToHost, ToWorker } from './wire-message.js';

/** What a driver supports. An option that needs more fails when the worker is created. */
export interface DriverCapabilities {
  /** A dead worker can be replaced: needed for `retry`. */
  readonly reconnect: boolean;
  /** ArrayBuffers can be transferred without a copy. */
  readonly transfer: boolean;
  /** A worker that does not respond can be ended without harm to the host. */
  readonly kill: boolean;
  /** The heap of a worker can be limited. */
  readonly memoryLimit: boolean;
}

/** How to start one worker. */
export interface ConnectSpec {
  /** Absolute path of the script. */
  readonly script: string;
  readonly env: Readonly<Record<string, string | undefined>> | undefined;
  /** False: the worker gets no variables but `env`. */
  readonly inheritEnv: boolean;
  /** Undefined: the user of the host. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
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

/** Events of one worker. */
export interface ConnectionEvents {
  readonly onMessage: (message: ToHost) => void;
  /** Called exactly once, after every message that the worker sent. */
  readonly onShutdown: (facts: CrashFacts) => void;
}

/** A measurement of a worker. */
export interface WorkerSample {
  readonly rssBytes: number;
  /** How long the event loop has not answered, counted from the first sample that it left open. 0 below 300 ms. */
  readonly busyMs: number;
}

/** One worker, from its start to its end. */
export interface Connection {
  readonly pid: number | undefined;
  /** Throws `SerializationError` when the message cannot be serialized. */
  send(message: ToWorker, transfer?: readonly ArrayBuffer[]): void;
  /** Whether the worker has started that request, during its life and after its end; undefined when it is not known. */
  hadStarted(id: number): boolean | undefined;
  /** Measures the worker, even while its event loop is blocked; undefined if the driver cannot. */
  sample(): Promise<WorkerSample | undefined>;
  /** Asks the worker to end; kills it after `graceMs`. Resolves when it has ended. */
  end(graceMs: number): Promise<void>;
  /** Kills the worker and its child processes. */
  kill(): void;
  /** Whether the worker keeps this process alive; it does at first. Drivers without it do not support `unref`. */
  setRef?(isRef: boolean): void;
}

/** Starts workers of one kind. */
export interface Driver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  connect(spec: ConnectSpec, events: ConnectionEvents): Connection;
}
