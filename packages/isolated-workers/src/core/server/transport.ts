import type { ToHost, ToWorker } from '../../types/wire-message.js';

/** The worker's end of the connection. */
export interface WorkerTransport {
  send(message: ToHost, transfer?: readonly ArrayBuffer[]): void;
  /** Records in the journal that this request starts. The host reads it after a crash. */
  recordStart(id: number): void;
  /** True when everything that was sent has left this process. */
  readonly isFlushed: boolean;
  /** Writes what is queued. */
  flush(): void;
  /** Ends this worker. */
  exit(code: number): void;
}

export interface TransportEvents {
  readonly onMessage: (message: ToWorker) => void;
  /** The host has died or closed the connection. */
  readonly onClosed: () => void;
}
