import type { Middleware, Serializer } from './messages.js';

/** Options of a worker server. */
export interface WorkerServerOptions {
  readonly middleware?: readonly Middleware[];
  /** Must be the serializer of the host. */
  readonly serializer?: Serializer;
  /** Runs before the worker ends. */
  readonly onClose?: () => void | Promise<void>;
}

/** The worker's own side of the connection. */
export interface WorkerServer {
  readonly isRunning: boolean;
  /** The `workerData` of the host. */
  readonly workerData: unknown;
  /** Ends this worker: running requests are aborted. */
  stop(): Promise<void>;
}
