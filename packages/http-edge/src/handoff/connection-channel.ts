import { isConnectionHandle, type ConnectionHandle } from './connection-handle.js';

/** A connection on its way to another process. */
export interface PassedConnection {
  readonly handle: ConnectionHandle;
  /** What was read of the connection and not answered; often the next request. */
  readonly received: Buffer;
}

/** Passes connections to another process, and takes those that it passes. */
export interface ConnectionChannel {
  /** Whether a connection can be passed at this moment. */
  readonly isOpen: boolean;
  pass(connection: PassedConnection): void;
  /** Called for each connection that the other process passes. */
  onConnection: ((connection: PassedConnection) => void) | undefined;
}

/** One end of an IPC channel of Node.js: `process` in a child, a `ChildProcess` in its parent. */
export interface IpcEnd {
  send?(message: unknown, handle: never, options: undefined, callback: (error: Error | null) => void): boolean;
  on(event: 'message', listener: (message: unknown, handle: unknown) => void): unknown;
}

/** A connection as a message; the handle travels beside it. */
interface ConnectionMessage {
  readonly type: 'connection';
  /** In base64. */
  readonly received: string;
}

/** Tells a process whether the process at the other end of its relay takes connections. */
interface PeerMessage {
  readonly type: 'connection-peer';
  readonly isReady: boolean;
}

/**
 * Connections that are sent and not known to have arrived. Node sends one at a time and waits for its receipt: with two, a
 * relay that does not run holds up no more than these, and further requests go by the proxy.
 */
const maxPending = 2;

/** The channel of a child process: its parent relays connections to the other process. */
export class IpcConnectionChannel implements ConnectionChannel {
  readonly #end: IpcEnd;
  #pending = 0;
  #isPeerReady = false;
  onConnection: ((connection: PassedConnection) => void) | undefined;

  constructor(end: IpcEnd) {
    this.#end = end;
    end.on('message', (message, handle) => this.#receive(message, handle));
  }

  get isOpen(): boolean {
    return this.#isPeerReady && this.#pending < maxPending;
  }

  pass({ handle, received }: PassedConnection): void {
    this.#pending += 1;
    sendConnection(this.#end, { type: 'connection', received: received.toString('base64') }, handle, () => {
      this.#pending -= 1;
    });
  }

  #receive(message: unknown, handle: unknown): void {
    if (isPeerMessage(message)) this.#isPeerReady = message.isReady;
    if (!isConnectionMessage(message) || !isConnectionHandle(handle)) return;
    const received = Buffer.from(message.received, 'base64');
    if (this.onConnection) this.onConnection({ handle, received });
    else handle.close();
  }
}

/**
 * Relays connections between two child processes, which have no channel of their own. A connection for a process that is
 * not there goes back to its sender.
 */
export class ConnectionRelay {
  readonly #ends = new Map<string, IpcEnd>();
  readonly #sides: readonly [string, string];

  constructor(...sides: [string, string]) {
    this.#sides = sides;
  }

  /** The process of this side is ready to take connections. */
  attach(side: string, end: IpcEnd): void {
    this.#ends.set(side, end);
    end.on('message', (message, handle) => {
      if (isConnectionMessage(message) && isConnectionHandle(handle)) this.#relay(side, end, message, handle);
    });
    this.#tellBoth();
  }

  /** The process of this side has exited. */
  detach(side: string): void {
    if (this.#ends.delete(side)) this.#tellBoth();
  }

  #relay(from: string, sender: IpcEnd, message: ConnectionMessage, handle: ConnectionHandle): void {
    sendConnection(this.#ends.get(this.#otherThan(from)) ?? sender, message, handle);
  }

  #tellBoth(): void {
    for (const [side, end] of this.#ends) {
      const message: PeerMessage = { type: 'connection-peer', isReady: this.#ends.has(this.#otherThan(side)) };
      end.send?.(message, undefined as never, undefined, () => undefined);
    }
  }

  #otherThan(side: string): string {
    const [first, second] = this.#sides;
    return side === first ? second : first;
  }
}

/** Sends a connection, and closes this process's copy of it: the system keeps the connection open while it travels. */
function sendConnection(end: IpcEnd, message: ConnectionMessage, handle: ConnectionHandle, sent?: () => void): void {
  const close = (): void => {
    handle.close();
    sent?.();
  };
  if (end.send)
    end.send(message, handle as never, undefined, close); // the public types do not list bare handles
  else close();
}

function isConnectionMessage(message: unknown): message is ConnectionMessage {
  const { type, received } = (message ?? {}) as Partial<ConnectionMessage>; // checked here
  return type === 'connection' && typeof received === 'string';
}

function isPeerMessage(message: unknown): message is PeerMessage {
  const { type, isReady } = (message ?? {}) as Partial<PeerMessage>; // checked here
  return type === 'connection-peer' && typeof isReady === 'boolean';
}
