import type { ToHost, ToWorker } from '../../types/wire-message.js';

/** The worker's end of the connection, whatever it is made of. */
export interface WorkerTransport {
  send(message: ToHost, transfer?: readonly ArrayBuffer[]): void;
  /** Notes for whoever has to find out what killed us that we begin with this request. */
  noteStart(id: number): void;
  /** Nothing that was sent still waits here, where it would be lost with this worker. */
  readonly isFlushed: boolean;
  /** Writes what waits. */
  flush(): void;
  /** Ends this worker. */
  exit(code: number): void;
}

export interface TransportEvents {
  readonly onMessage: (message: ToWorker) => void;
  /** The host is gone or has closed the connection. */
  readonly onClosed: () => void;
}
